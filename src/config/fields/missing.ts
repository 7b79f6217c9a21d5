/** Fields of policies whose feature the limiter does not have. */

import { isTable } from "../bindings.ts";
import { type Mistake, mistakeAbout } from "../mistake.ts";
import type { AddedFields, FieldTable } from "./field.ts";
import { tableOf } from "./table.ts";

/** The feature that a field, a condition or a word of `consistency` belongs to, by the name of its function. */
export const FEATURE_OF = {
  own: { sync: "shared", meter: "meter" },
  conditions: { rpc: "rpc", tool: "rpc" },
  consistency: { leased: "leases", shared: "shared" },
} as const;

/** The fields of a program's policies, of which some features may be missing. */
export function tableOfSome(added: readonly AddedFields[]): FieldTable {
  const has = {
    own: added.flatMap(({ own }) => Object.keys(own?.fields ?? {})),
    conditions: added.flatMap(({ conditions = {} }) => Object.keys(conditions)),
    consistency: added.flatMap(({ consistency = [] }) => consistency),
  };
  return { ...tableOf(added), missing: (policy, path) => missingFeatures(policy, path, has) };
}

function missingFeatures(
  policy: Readonly<Record<string, unknown>>,
  path: string,
  has: Readonly<Record<keyof typeof FEATURE_OF, readonly string[]>>,
): Mistake[] {
  const mistakes: Mistake[] = [];
  const look = (part: keyof typeof FEATURE_OF, name: unknown, below: string, found: unknown) => {
    const features: Readonly<Record<string, string>> = FEATURE_OF[part];
    if (typeof name !== "string" || !Object.hasOwn(features, name) || has[part].includes(name)) return;
    const feature = features[name]!;
    const expected = `the feature ${feature}: import { ${feature} } from "headgate", and write features: [${feature}()] in createLimiter`;
    mistakes.push(mistakeAbout("ERR_FEATURE_MISSING", `${path}.${below}`, expected, found));
  };
  for (const [name, value] of given(policy)) look("own", name, name, value);
  for (const field of ["match", "except", "cost"]) {
    const value = policy[field];
    const rules = Array.isArray(value)
      ? [...value.entries()].map(([i, rule]) => [`${field}[${i}]`, rule])
      : [[field, value]];
    for (const [below, rule] of rules) {
      for (const [name, found] of given(rule)) look("conditions", name, `${below}.${name}`, found);
    }
  }
  look("consistency", policy.consistency, "consistency", policy.consistency);
  return mistakes;
}

function given(table: unknown): [name: string, value: unknown][] {
  return isTable(table) ? Object.entries(table).filter(([, value]) => value !== undefined) : [];
}
