/** What a request costs. */

import { MAX_UNITS } from "../../core/layout.ts";
import type { FeatureFields, Field, Fields } from "./field.ts";
import { largestCost } from "./limits.ts";

/** @param asTable what a table may say in place of rules. Absent: nothing. */
export function costBy<Conditions extends Fields>(conditions: Conditions, asTable?: Field) {
  const rules = {
    is: "list",
    of: { is: "table", fields: { ...conditions, cost: { is: "integer", least: 0, most: MAX_UNITS } } },
    canBeEmpty: true,
    default: [],
    expected: `a list of rules, for example [{ path = "/v1/search", cost = 100 }]${asTable ? `, or ${asTable.expected}` : ""}`,
    isOfHead: true,
  } as const;
  return {
    fields: {
      cost: {
        ...rules,
        ...(asTable && { asTable }),
        besideMeter: { ...rules, most: 0, expected: "no cost beside meter, which says what a request costs" },
      },
    },
    beside(checked) {
      const { cost: rules } = checked.written;
      if (!Array.isArray(rules) || checked.allLimits.length === 0) return;
      const smallest = Math.min(...checked.allLimits.map(largestCost));
      for (const [i, rule] of rules.entries()) {
        const { cost: found } = (rule ?? {}) as { cost?: unknown };
        // Values that are not numbers have been reported.
        const cost = typeof found === "string" ? Number(found) : found;
        if (typeof cost !== "number" || !(cost > smallest)) continue;
        const expected = `at most the policy's smallest limit (or burst), ${smallest}: a larger cost would never be admitted`;
        checked.wrong("ERR_POLICY_COST_NEVER", `cost[${i}].cost`, expected, cost);
      }
    },
  } as const satisfies FeatureFields;
}
