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
export function tableOfSome(features: readonly { readonly name: string; readonly fields?: AddedFields }[]): FieldTable {
  const names = features.map(({ name }) => name);
  return {
    ...tableOf(features.flatMap(({ fields }) => fields ?? [])),
    missing: (policy, path) => missingFeatures(policy, path, names),
  };
}

/** @param has the names of the features that are there. */
function missingFeatures(policy: Readonly<Record<string, unknown>>, path: string, has: readonly string[]): Mistake[] {
  const mistakes: Mistake[] = [];
  const look = (part: keyof typeof FEATURE_OF, name: unknown, below: string, found: unknown) => {
    const features: Readonly<Record<string, string>> = FEATURE_OF[part];
    const feature = typeof name === "string" && Object.hasOwn(features, name) ? features[name]! : undefined;
    if (feature === undefined || has.includes(feature)) return;
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
