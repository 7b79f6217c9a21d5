// The way to the REST service is broken: no answer, a late answer, or a lost answer.

import { it } from "vitest";
import type { Fault } from "../../support/faults/fault-rig.ts";
import { tell } from "../../support/faults/fault-story.ts";

const FAULTS: readonly Fault[] = ["refused", "reset", "reset-after", "lost-reply", "blackholed", "slow"];

it.each(FAULTS)(
  "%s, twice in a row: no 500, no wait beyond the budget, an answer by policy, and exact limits after each",
  tell,
);
