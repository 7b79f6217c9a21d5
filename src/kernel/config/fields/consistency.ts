/** Who admits: the store, or an isolate ahead of it. */

import { algorithmOf, NAMED } from "../../core/algorithms.ts";
import type { Checked, FeatureFields } from "./field.ts";
import { ALGORITHMS, expectAlgorithms } from "./limits.ts";

/** @param words those that features have. @param more what to do for others, in words. Empty: there are none. */
export function consistencyBy<const Words extends readonly string[]>(words: Words, more = "") {
  return {
    fields: {
      consistency: {
        is: "word",
        words: ["strict", ...words],
        meant: (_, expected) => `${expected}${more}`,
        default: "strict",
        besideMeter: { is: "word", words: ["strict"], default: "strict", expected: '"strict" beside meter' },
      },
    },
  } as const satisfies FeatureFields;
}

/** Algorithms whose units can be charged before a request comes. */
export const LEASABLE = ALGORITHMS.filter((name) => algorithmOf(NAMED[name]).lease && !NAMED[name].isNeverLeased);

/** For a policy whose isolates count ahead of its store. */
export function expectLeasable(checked: Checked): void {
  const expected = `one of ${LEASABLE.join(", ")}: other algorithms cannot be leased or shared; or consistency = "strict"`;
  expectAlgorithms(checked, (algorithm) => LEASABLE.includes(algorithm), "ERR_POLICY_CONSISTENCY", expected);
}
