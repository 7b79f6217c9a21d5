/** Other numbers for the limits, by the client's plan. */

import { isTable } from "../../kernel/config/bindings.ts";
import type { Checked, FeatureFields } from "../../kernel/config/fields/field.ts";
import { sourceBut } from "../../kernel/config/fields/key.ts";
import { read } from "../../kernel/config/fields/read.ts";
import { MAX_UNITS } from "../../kernel/core/layout.ts";
import { misfit, withWritten } from "../../kernel/core/numbers.ts";
import type { Limit } from "../../kernel/core/policy.ts";
import { ADDRESSES } from "../../kernel/request/sources.ts";

const PLANS_EXPECTED = "numbers by plan and limit, for example { pro = { api-1 = 100 } }";

/** A number of a limit as it is written. */
const NUMBER = { is: "units", most: MAX_UNITS, code: "ERR_POLICY_PLAN_NUMBER" } as const;

export const plansFields = {
  fields: {
    plan: sourceBut(...ADDRESSES, "asn", "global"),
    plans: {
      is: "named",
      of: { is: "named", of: NUMBER, expected: PLANS_EXPECTED },
      names: {
        form: /^[A-Za-z\d][\w.:-]{0,63}$/,
        expected: "1 to 64 of a-z, A-Z, 0-9 and _ . : -, not beginning with a mark",
      },
      expected: PLANS_EXPECTED,
      isOptional: true,
    },
  },
  otherLimits: (checked) => plannedOf(checked).map(({ limit }) => limit),
  beside(checked) {
    const { written, ids, wrong } = checked;
    if (written.plan !== undefined && written.plans === undefined) wrong("ERR_POLICY_PLANS", "plans", PLANS_EXPECTED);
    for (const [name, numbers] of entries(written.plans)) {
      for (const [id] of entries(numbers)) {
        if (ids.length === 0 || ids.includes(id)) continue;
        wrong("ERR_POLICY_PLAN_LIMIT", `plans.${name}.${id}`, `an id of a limit: ${ids.join(", ")}`, id);
      }
    }
    for (const { limit, below, number } of plannedOf(checked)) {
      const expected = misfit(limit);
      if (expected) wrong("ERR_POLICY_RANGE", below, expected, number);
    }
  },
} as const satisfies FeatureFields;

interface Planned {
  /** With the number of the plan. */
  readonly limit: Limit;
  /** The path of the number in the policy. */
  readonly below: string;
  readonly number: number;
}

/** The limits that are right with each right number of a plan. */
function plannedOf({ written, limits, unit }: Pick<Checked, "written" | "limits" | "unit">): Planned[] {
  return entries(written.plans).flatMap(([name, numbers]) =>
    entries(numbers).flatMap(([id, value]): Planned[] => {
      const found = limits.find(({ limit }) => limit.id === id);
      const number = read(NUMBER, value, { path: "", code: "ERR_POLICY_PLANS", unit, mistakes: [] });
      if (!found || typeof number !== "number") return [];
      return [{ limit: withWritten(found.limit, number), below: `plans.${name}.${id}`, number }];
    }),
  );
}

function entries(table: unknown): [string, unknown][] {
  return isTable(table) ? Object.entries(table) : [];
}
