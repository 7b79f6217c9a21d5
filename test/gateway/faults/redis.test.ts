// Redis itself fails: it refuses commands, has lost its data, has a wrong clock, or finds rubbish in its keys.

import { it } from "vitest";
import { firstOf } from "../../support/cases/draws.ts";
import type { Fault } from "../../support/faults/fault-rig.ts";
import { tell } from "../../support/faults/fault-story.ts";

/** The first ones are of different kinds: refused, lost, ended, and rubbish. `npm run test:long` tells all of them. */
const FAULTS: readonly Fault[] = [
  "readonly",
  "noscript",
  "restarted-empty",
  "wrong-type",
  "wrapped",
  "oom",
  "misconf",
  "noreplicas",
  "masterdown",
  "clusterdown",
  "busy",
  "loading",
  "clock-behind",
  "full",
];

it.each(firstOf(FAULTS))(
  "%s, twice in a row: no 500, no wait beyond the budget, an answer by policy, and exact limits after each",
  tell,
);
