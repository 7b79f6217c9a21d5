/** What stays charged, by the status of the answer. */

import { isAhead } from "./consistency.ts";
import type { FeatureFields } from "./field.ts";
import { ALGORITHMS, canGiveBack, expectAlgorithms } from "./limits.ts";

export const count = {
  fields: {
    count: {
      is: "word",
      words: ["all", "failures", "successes"],
      default: "all",
      besideMeter: {
        is: "word",
        words: ["all"],
        default: "all",
        expected: '"all" beside meter, which charges what was used',
      },
      isOfHead: true,
    },
  },
  /** Units can come back only to limits that give back exactly what was charged, and only if nothing is leased. */
  beside(checked) {
    const { count, consistency } = checked.written;
    if (!isByStatus(count)) return;
    const beside = `beside count = "${count}"`;
    if (isAhead(consistency)) checked.wrong("ERR_POLICY_COUNT", "consistency", `"strict" ${beside}`);
    const expected = `one of ${ALGORITHMS.filter(canGiveBack).join(", ")} ${beside}`;
    expectAlgorithms(checked, canGiveBack, "ERR_POLICY_COUNT", expected);
  },
  compile: ({ count }) => (count === "all" ? {} : { count }),
} as const satisfies FeatureFields;

/** Whether some requests get their units back when their status is known. */
export function isByStatus(count: unknown): boolean {
  return count === "failures" || count === "successes";
}

/** For clients. */
export const COUNT_MEANINGS = {
  failures: "only failed requests count, those whose answer has a status of 400 or more",
  successes: "only successful requests count, those whose answer has a status below 400",
};
