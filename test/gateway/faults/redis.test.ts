// Redis fails, or the way to it, or its REST service: twice in a row, under load.

import { describe, it } from "vitest";
import { firstOf } from "../../support/cases/draws.ts";
import type { Fault } from "../../support/faults/fault-rig.ts";
import { tell } from "../../support/faults/fault-story.ts";

/** In the order of how different they are: `npm test` tells only the first ones, `npm run test:long` all of them. */
const FAULTS: Readonly<Record<string, readonly Fault[]>> = {
  "no answer, a late answer, or a lost answer": ["lost-reply", "refused", "blackholed", "reset", "reset-after", "slow"],
  "a service that answers wrongly": [
    ...(["status-500", "swapped", "status-429", "status-401", "truncated", "not-json", "wrong-shape"] as const),
  ],
  "commands that are refused, data that is lost, a wrong clock, or rubbish in keys": [
    ...(["readonly", "noscript", "restarted-empty", "wrong-type", "wrapped", "oom", "misconf", "noreplicas"] as const),
    ...(["masterdown", "clusterdown", "busy", "loading", "clock-behind", "full"] as const),
  ],
};

describe.each(Object.entries(FAULTS))("%s", (_, faults) => {
  it.each(firstOf(faults))(
    "%s: no 500, no wait beyond the budget, an answer by policy, and exact limits after it",
    tell,
  );
});
