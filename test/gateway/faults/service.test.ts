// The REST service answers, but wrongly.

import { it } from "vitest";
import type { Fault } from "../../support/faults/fault-rig.ts";
import { tell } from "../../support/faults/fault-story.ts";

const FAULTS: readonly Fault[] = [
  "status-500",
  "status-429",
  "status-401",
  "truncated",
  "not-json",
  "wrong-shape",
  "swapped",
];

it.each(FAULTS)(
  "%s, twice in a row: no 500, no wait beyond the budget, an answer by policy, and exact limits after each",
  tell,
);
