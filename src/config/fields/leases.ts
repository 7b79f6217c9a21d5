/** Units that an isolate takes ahead of demand. */

import { algorithmOf, NAMED } from "../../core/algorithms.ts";
import type { AddedFields, Checked } from "./field.ts";
import { ALGORITHMS, expectAlgorithms } from "./limits.ts";

/** Algorithms whose units can be charged before a request comes. */
export const LEASABLE = ALGORITHMS.filter((name) => algorithmOf(NAMED[name]).lease && !NAMED[name].isNeverLeased);

export const leasesFields = {
  consistency: "leased",
  own: {
    fields: {},
    beside(checked) {
      if (checked.written.consistency === "leased") expectLeasable(checked);
    },
  },
} as const satisfies AddedFields;

export function expectLeasable(checked: Checked): void {
  const expected = `one of ${LEASABLE.join(", ")}: units of other algorithms cannot be leased or shared; or consistency = "strict"`;
  expectAlgorithms(checked, (algorithm) => LEASABLE.includes(algorithm), "ERR_POLICY_CONSISTENCY", expected);
}
