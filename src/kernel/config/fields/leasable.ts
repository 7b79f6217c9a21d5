/** Which limits an isolate may count ahead of its store. */

import { algorithmOf, NAMED } from "../../core/algorithms.ts";
import type { Checked } from "./field.ts";
import { ALGORITHMS, expectAlgorithms } from "./limits.ts";

/** Algorithms whose units can be charged before a request comes. */
export const LEASABLE = ALGORITHMS.filter((name) => algorithmOf(NAMED[name]).lease && !NAMED[name].isNeverLeased);

export function expectLeasable(checked: Checked): void {
  const expected = `one of ${LEASABLE.join(", ")}: units of other algorithms cannot be leased or shared; or consistency = "strict"`;
  expectAlgorithms(checked, (algorithm) => LEASABLE.includes(algorithm), "ERR_POLICY_CONSISTENCY", expected);
}
