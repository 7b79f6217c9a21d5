/** The fields of policies, checked each by itself and together. */

import type { Policy } from "../core/policy.ts";
import { isTable } from "./bindings.ts";
import type {
  AllFields,
  Checked,
  CheckedLimit,
  FeatureFields,
  FieldTable,
  LimitValues,
  Values,
} from "./fields/field.ts";
import { idOf, limitOf } from "./fields/limits.ts";
import { readFields } from "./fields/read.ts";
import { describeValue, type Mistake, mistakeAbout, type Parsed } from "./mistake.ts";
import { patternMistakes } from "./patterns.ts";
import type { PolicyInput } from "./policy-input.ts";

/** @param policy as it was written. @param path of the policy in messages. */
export type FindMistakes = (policy: unknown, path: string) => readonly Mistake[];

/**
 * Turns the policies that an operator wrote into checked policies, or into the list of all mistakes.
 *
 * @param table the fields that they may have.
 * @param path the list's name in messages, for example `POLICIES`.
 * @param paths the name of each policy in messages. Default: its position in the list.
 * @param more finds further mistakes in a policy. Absent: no further mistakes are looked for.
 */
export function parseFields(
  table: FieldTable,
  input: unknown,
  path: string,
  paths?: readonly string[],
  more?: FindMistakes,
): Parsed<readonly Policy[]> {
  if (!Array.isArray(input) || input.length === 0) {
    return { mistakes: [mistakeAbout("ERR_POLICIES_MISSING", path, "a list of at least one policy", input)] };
  }
  const pathOf = (i: number) => paths?.[i] ?? `${path}[${i}]`;
  const read = input.map((policy, i) => readPolicy(table, policy, pathOf(i), more));
  const mistakes = [...read.flatMap((one) => one.mistakes), ...takenNames(input, pathOf)];
  if (mistakes.length > 0) return { mistakes };

  let policies: readonly Policy[] = read.map(({ values }) => compilePolicy(table, values));
  const taken = takenLimitIds(policies, pathOf);
  if (taken.length > 0) return { mistakes: taken };
  const all: AllFields = { pathOf, fields: table.fields, write: (policy) => writePolicy(table, policy) };
  for (const { together } of table.features) {
    const parsed = together?.(policies, all);
    if (parsed?.mistakes) return parsed;
    policies = parsed?.value ?? policies;
  }
  return { value: policies };
}

function readPolicy(
  table: FieldTable,
  policy: unknown,
  path: string,
  more: FindMistakes = () => [],
): { readonly values: Values; readonly mistakes: readonly Mistake[] } {
  const written = isTable(policy) ? policy : undefined;
  // What is right beside a feature's fields only the feature knows.
  const missing = (written && table.missing?.(written, path)) ?? [];
  if (missing.length > 0) return { values: {}, mistakes: missing };
  const mistakes: Mistake[] = [];
  const unit = table.unitOf(policy);
  const code = "ERR_POLICY_TYPE";
  if (!written) mistakes.push(mistakeAbout(code, path, "a table with name, key and limits", policy));
  const values: Values = written ? readFields(table.fields, written, { path, code, unit, mistakes }) : {};
  mistakes.push(...patternMistakes(policy, path), ...more(policy, path));
  if (!written) return { values, mistakes };

  const { name, limits: list } = written;
  const number = Array.isArray(list) ? list.length : 0;
  // A policy without a name has no ids.
  const ids = typeof name === "string" ? Array.from({ length: number }, (_, i) => idOf(name, i, number)) : [];
  const limits: CheckedLimit[] = (values.limits ?? []).flatMap((values: LimitValues | undefined, i: number) => {
    if (values === undefined) return [];
    const limit = limitOf(values, ids[i] ?? "", unit === "none" ? undefined : unit);
    return { values, limit, path: `${path}.limits[${i}]` };
  });
  const wrong: Checked["wrong"] = (code, below, expected, found = written[below]) => {
    mistakes.push(mistakeAbout(code, `${path}.${below}`, expected, found));
  };
  const checked = { written, values, path, unit, limits, ids, mistakes, wrong };
  const others = table.features.flatMap(({ otherLimits }) => otherLimits?.(checked) ?? []);
  const allLimits = [...limits.map(({ limit }) => limit), ...others];
  for (const { beside } of table.features) beside?.({ ...checked, allLimits });
  return { values: { ...values, limits: limits.map(({ limit }) => limit) }, mistakes };
}

function takenNames(policies: readonly unknown[], pathOf: (i: number) => string): Mistake[] {
  const names = policies.map((policy) => (policy as { name?: unknown } | null)?.name);
  return names.flatMap((name, i): Mistake[] => {
    const first = names.indexOf(name);
    if (typeof name !== "string" || first === i) return [];
    const expected = `a name that no other policy has`;
    const found = `${describeValue(name)}, the name of ${pathOf(first)}`;
    return [{ code: "ERR_POLICY_NAME_TAKEN", path: `${pathOf(i)}.name`, expected, found }];
  });
}

/** `api-1` may be a policy with one limit, or the first limit of `api`: headers could not tell them apart. */
function takenLimitIds(policies: readonly Policy[], pathOf: (i: number) => string): Mistake[] {
  const owners = new Map<string, string>();
  return policies.flatMap(({ name, limits }, i) =>
    limits.flatMap(({ id }): Mistake[] => {
      const owner = owners.get(id);
      owners.set(id, name);
      if (owner === undefined) return [];
      const expected = "a name that gives its limits ids of their own";
      const found = `${describeValue(id)}, an id that policy ${describeValue(owner)} has too`;
      return [{ code: "ERR_POLICY_LIMIT_ID_TAKEN", path: `${pathOf(i)}.name`, expected, found }];
    }),
  );
}

function compilePolicy({ features }: FieldTable, values: Values): Policy {
  const parts = features.map(({ fields, compile }) => compile?.(values) ?? partOf(values, fields));
  return Object.assign({}, ...parts);
}

/** The policy as an operator could write it, with defaults filled in. `parseFields` reads it back. */
export function writePolicy({ features }: FieldTable, policy: Policy): PolicyInput {
  const parts = features.map(({ fields, write }) => write?.(policy) ?? partOf(policy, fields));
  return Object.assign({}, ...parts);
}

/** The values of a feature's fields. */
function partOf(values: Values, fields: FeatureFields["fields"]): Values {
  const names = Object.keys(fields).filter((name) => values[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}
