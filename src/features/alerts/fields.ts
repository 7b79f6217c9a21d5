/** At which parts of its limits the operator hears of a client. */

import type { FeatureFields } from "../../kernel/config/fields/field.ts";
import { expectAlgorithms } from "../../kernel/config/fields/limits.ts";

const MAX_PARTS = 10;

export const alertsFields = {
  fields: {
    warn: {
      is: "oneOrMore",
      of: { is: "part" },
      most: MAX_PARTS,
      isRight: (parts: readonly number[]) => new Set(parts).size === parts.length,
      isOptional: true,
      expected: `1 to ${MAX_PARTS} different parts of a limit, each above 0 and at most 1, for example [0.8, 0.95]`,
    },
  },
  beside(checked) {
    if (checked.written.warn === undefined) return;
    const expected = "another algorithm beside warn: slots have no window";
    expectAlgorithms(checked, (algorithm) => algorithm !== "concurrency", "ERR_POLICY_WARN", expected);
  },
} as const satisfies FeatureFields;
