// The REST service answers, but wrongly.

import { it } from "vitest";
import { firstOf } from "../../support/cases/draws.ts";
import type { Fault } from "../../support/faults/fault-rig.ts";
import { tell } from "../../support/faults/fault-story.ts";

/** In the order of how different they are: `npm test` tells only the first ones. */
const FAULTS: readonly Fault[] = [
  "status-500",
  "swapped",
  "status-429",
  "status-401",
  "truncated",
  "not-json",
  "wrong-shape",
];

it.each(firstOf(FAULTS))(
  "%s, twice in a row: no 500, no wait beyond the budget, an answer by policy, and exact limits after each",
  tell,
);
