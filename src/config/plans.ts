/** Checks the plans of a policy together with its limits. policy-schema.ts has checked each number by itself. */

import * as v from "valibot";
import { misfit, withWritten } from "../core/numbers.ts";
import type { Limit } from "../core/policy.ts";
import { isTable } from "./bindings.ts";
import { describeValue, type Mistake } from "./mistake.ts";
import { EXPECTED, SCHEMAS } from "./policy-schema.ts";

const PLAN_NAME = /^[a-z\d][\w.:-]{0,63}$/i;
const NAME_EXPECTED = "1 to 64 of a-z, A-Z, 0-9 and _ . : -, not beginning with a mark";

/**
 * @param limits of the policy, by id. Undefined: a wrong one. @param path of the policy in messages.
 * @returns the limits with the numbers of all plans, and mistakes.
 */
export function checkPlans(
  { plan, plans }: { readonly plan?: unknown; readonly plans?: unknown },
  limits: ReadonlyMap<string, Limit | undefined>,
  path: string,
): { readonly planned: readonly Limit[]; readonly mistakes: readonly Mistake[] } {
  const [planned, mistakes]: [Limit[], Mistake[]] = [[], []];
  const wrong = (code: Mistake["code"], below: string, expected: string, found: unknown) => {
    mistakes.push({ code, path: `${path}.plans${below}`, expected, found: describeValue(found) });
  };
  if (plan !== undefined && plans === undefined) wrong("ERR_POLICY_PLANS", "", EXPECTED.plans!, plans);
  for (const [name, numbers] of entries(plans)) {
    if (!PLAN_NAME.test(name)) wrong("ERR_POLICY_PLANS", "", NAME_EXPECTED, name);
    for (const [id, number] of entries(numbers)) {
      const below = `.${name}.${id}`;
      if (limits.size > 0 && !limits.has(id)) {
        wrong("ERR_POLICY_PLAN_LIMIT", below, `an id of a limit: ${[...limits.keys()].join(", ")}`, id);
      }
      const limit = limits.get(id);
      const { success, output } = v.safeParse(SCHEMAS[limit?.unit ?? "none"].number, number);
      if (!limit || !success) continue;
      const other = withWritten(limit, output);
      planned.push(other);
      const expected = misfit(other);
      if (expected) wrong("ERR_POLICY_RANGE", below, expected, output);
    }
  }
  return { planned, mistakes };
}

function entries(table: unknown): [string, unknown][] {
  return isTable(table) ? Object.entries(table) : [];
}
