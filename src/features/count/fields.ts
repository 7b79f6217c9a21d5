/** What stays charged, by the status of the answer. */

import type { ClientWords, FeatureFields } from "../../kernel/config/fields/field.ts";
import { ALGORITHMS, canGiveBack, expectAlgorithms } from "../../kernel/config/fields/limits.ts";

export const countFields = {
  fields: {
    count: {
      is: "word",
      words: ["all", "failures", "successes"],
      default: "all",
      besideMeter: {
        is: "word",
        words: ["all"],
        default: "all",
        expected: '"all" beside meter, which counts what was used',
      },
      isOfHead: true,
    },
  },
  /** Units can come back only to limits that give back exactly what was charged, and only if nothing is leased. */
  beside(checked) {
    const { count, consistency = "strict" } = checked.values;
    if (count === undefined || count === "all") return;
    const beside = `beside count = "${count}"`;
    if (consistency !== "strict") checked.wrong("ERR_POLICY_COUNT", "consistency", `"strict" ${beside}`);
    const expected = `one of ${ALGORITHMS.filter(canGiveBack).join(", ")} ${beside}`;
    expectAlgorithms(checked, canGiveBack, "ERR_POLICY_COUNT", expected);
  },
  compile: ({ count }) => (count === "all" ? {} : { count }),
} as const satisfies FeatureFields;

const MEANINGS = {
  failures: "only failed requests count: those answered with a status of 400 or more",
  successes: "only successful requests count: those answered with a status below 400",
};

export const countWords = {
  tell: ({ count }) => count && { counts: { only: count, meaning: MEANINGS[count] } },
  say: ({ counts }) => ({ costs: counts?.meaning }),
} as const satisfies ClientWords;
