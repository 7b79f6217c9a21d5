/** Checks what a history promises. */

import type { History } from "./history.ts";
import { checkLinearizable, type Judged } from "./linearizable.ts";
import { checkPlaces, type JudgedPlaces } from "./several-places.ts";

export interface Verdict {
  /** Of the calls of stores. */
  readonly calls: Judged;
  /** Of the limiters. Absent: the history has none. */
  readonly places?: JudgedPlaces;
  /** What is wrong, each as a story of a few lines. Empty: the history is as promised. */
  readonly violations: readonly string[];
}

export function checkHistory(history: History): Verdict {
  const calls = checkLinearizable(history);
  if (history.promise === "linearizable") return { calls, violations: calls.violations };
  const places = checkPlaces(history);
  return { calls, places, violations: [...calls.violations, ...places.violations] };
}
