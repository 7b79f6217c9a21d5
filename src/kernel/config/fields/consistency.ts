/** Who admits: the store, or an isolate ahead of it. */

import type { FeatureFields } from "./field.ts";

/** @param words those that features have. */
export function consistencyBy<const Words extends readonly string[]>(words: Words) {
  return {
    fields: {
      consistency: {
        is: "word",
        words: ["strict", ...words],
        default: "strict",
        besideMeter: { is: "word", words: ["strict"], default: "strict", expected: '"strict" beside meter' },
      },
    },
  } as const satisfies FeatureFields;
}

/** Whether a request is admitted before the store has been asked. */
export function isAhead(consistency: unknown): boolean {
  return consistency === "leased" || consistency === "shared";
}

/** For clients. */
export const CONSISTENCY_MEANINGS = {
  strict: "Every admitted request was counted centrally first",
  shared:
    "Each running copy of the server decides by itself, and all together keep to the limit to within a few per cent",
  leased: "Units are taken ahead of demand, never more than the limit; fewer units may be left than is shown",
};
