// Redis itself fails: it refuses commands, has lost its data, has a wrong clock, or finds rubbish in its keys.

import { it } from "vitest";
import type { Fault } from "../../support/faults/fault-rig.ts";
import { tell } from "../../support/faults/fault-story.ts";

const FAULTS: readonly Fault[] = [
  "readonly",
  "wrapped",
  "oom",
  "misconf",
  "noreplicas",
  "masterdown",
  "clusterdown",
  "busy",
  "loading",
  "noscript",
  "clock-behind",
  "full",
  "restarted-empty",
  "wrong-type",
];

it.each(FAULTS)(
  "%s, twice in a row: no 500, no wait beyond the budget, an answer by policy, and exact limits after each",
  tell,
);
