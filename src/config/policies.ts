/** Turns the policies that an operator wrote into checked policies, or into the list of all mistakes. */

import * as v from "valibot";
import { algorithmOf } from "../core/algorithms.ts";
import type { AlgorithmName, Limit, Policy } from "../core/policy.ts";
import { recordIdOf } from "../core/records.ts";
import { largestCost, type ParsedLimit, specOf, writeLimit } from "./limits.ts";
import { describeValue, type Mistake } from "./mistake.ts";
import type { PolicyInput } from "./policy-input.ts";
import { DEFAULT_ALGORITHM, EXPECTED, LIMIT_SCHEMAS, limitSchema, policySchema } from "./policy-schema.ts";

/**
 * Algorithms whose units can be charged before a request comes: those with a `lease` in src/core, which a limiter over
 * the memory store does not carry. A leaky bucket shares the `lease` of the token bucket, but leased units have no turn
 * to wait for.
 */
export const LEASABLE: readonly AlgorithmName[] = ["sliding-window", "fixed-window", "token-bucket"];

type ParsedPolicy = v.InferOutput<typeof policySchema>;

export type Parsed<T> = { readonly value: T; readonly mistakes?: never } | { readonly mistakes: readonly Mistake[] };

/**
 * Checks a list of policies.
 *
 * @param path the list's name in messages, for example `POLICIES`.
 * @param places the name of each policy in messages. Default: its position in the list.
 */
export function parsePolicies(input: unknown, path: string, places?: readonly string[]): Parsed<readonly Policy[]> {
  if (!Array.isArray(input) || input.length === 0) {
    const expected = "a list of at least one policy";
    return { mistakes: [{ code: "ERR_POLICIES_MISSING", path, expected, found: describeValue(input) }] };
  }
  const placeOf = (i: number) => places?.[i] ?? `${path}[${i}]`;
  const parsed = input.map((policy) => v.safeParse(policySchema, policy, { abortPipeEarly: true }));
  const mistakes = [
    ...parsed.flatMap(({ issues = [] }, i) => [
      ...issues.map((issue) => fieldMistake(issue, placeOf(i))),
      ...limitMistakes(input[i], placeOf(i)),
    ]),
    ...takenNames(input, placeOf),
  ];
  if (mistakes.length > 0) return { mistakes };

  const policies = parsed.map(({ output }) => compilePolicy(output as ParsedPolicy));
  const taken = takenLimitIds(policies, placeOf);
  return taken.length > 0 ? { mistakes: taken } : { value: policies };
}

/** Valibot tells the place. The expected value is looked up by the field's name. */
function fieldMistake(issue: v.BaseIssue<unknown>, path: string): Mistake {
  const keys = issue.path?.map(({ key }) => key as string | number) ?? [];
  const place = keys.reduce<string>((at, key) => (typeof key === "number" ? `${at}[${key}]` : `${at}.${key}`), path);
  const field = keys.filter((key) => typeof key === "string").join(".");
  const found = describeValue(issue.path ? issue.path.at(-1)!.value : issue.input);
  const { algorithm: named } = (issue.path?.at(-1)?.input ?? {}) as { algorithm?: unknown };
  const algorithm = typeof named === "string" ? named : undefined;
  if (issue.type === "strict_object" && issue.expected === "never") {
    const expected = `only the fields ${siblingsOf(field, algorithm).join(", ")}`;
    return { code: "ERR_POLICY_FIELD", path: place, expected, found };
  }
  const [code, expected] = EXPECTED[`${field} of ${algorithm}`] ?? EXPECTED[field] ?? EXPECTED[field.split(".")[0]!]!;
  // Patterns are checked by code, which tells more precisely what was expected.
  const checked = [issue, ...(issue.issues ?? [])].find(({ type }) => type === "check");
  return { code, path: place, expected: checked?.message || expected, found };
}

/** The fields that are allowed beside an unknown field. */
function siblingsOf(field: string, algorithm: string | undefined): string[] {
  const parent = field.slice(0, field.lastIndexOf(".") + 1);
  if (parent === "limits.") {
    return Object.keys(LIMIT_SCHEMAS[(algorithm ?? DEFAULT_ALGORITHM) as keyof typeof LIMIT_SCHEMAS].entries);
  }
  return Object.keys(EXPECTED)
    .filter((name) => name.startsWith(parent) && name !== "" && !name.slice(parent.length).includes("."))
    .map((name) => name.slice(parent.length));
}

/** Checks a limit's fields together, and a policy's limits together. A limit with a wrong field is left out. */
function limitMistakes(policy: unknown, path: string): Mistake[] {
  const { limits, cost: rules, consistency } = (policy ?? {}) as Partial<Record<string, unknown>>;
  if (!Array.isArray(limits)) return [];
  const parsed = limits.flatMap((input, i) => {
    const { success, output } = v.safeParse(limitSchema, input);
    return success ? [{ limit: output, path: `${path}.limits[${i}]` }] : [];
  });
  return [
    ...parsed.flatMap(({ limit, path }) => rangeMistakes(limit, path)),
    ...limitsTwice(parsed),
    ...(consistency === "leased" ? parsed.flatMap(cannotBeLeased) : []),
    ...costsThatNeverPass(
      rules,
      parsed.map(({ limit }) => limit),
      path,
    ),
  ];
}

function rangeMistakes(limit: ParsedLimit, path: string): Mistake[] {
  if (limit.algorithm === "sliding-window" && limit.window % limit.buckets !== 0) {
    const expected = `a number that divides the window of ${limit.window} ms`;
    return [{ code: "ERR_POLICY_BUCKETS", path: `${path}.buckets`, expected, found: String(limit.buckets) }];
  }
  const spec = specOf(limit);
  const expected = algorithmOf(spec).tooLarge?.(spec);
  if (expected === undefined) return [];
  const field = "burst" in limit && limit.burst !== undefined ? "burst" : "limit";
  return [{ code: "ERR_POLICY_RANGE", path: `${path}.${field}`, expected, found: String(largestCost(spec)) }];
}

/** Two limits of a policy that would share one record. Of two windows, the larger limit could never be reached. */
function limitsTwice(limits: readonly { limit: ParsedLimit; path: string }[]): Mistake[] {
  const seen = new Map<string, string>();
  return limits.flatMap(({ limit, path }): Mistake[] => {
    const identity = `${limit.scope} ${recordIdOf(specOf(limit))}`;
    const first = seen.get(identity);
    if (first === undefined) {
      seen.set(identity, path);
      return [];
    }
    const expected =
      "another window (or timeout), buckets, oldest or scope: with the same ones both limits would share one count";
    return [{ code: "ERR_POLICY_LIMIT_TWICE", path, expected, found: `the same as ${first}` }];
  });
}

function cannotBeLeased({ limit, path }: { limit: ParsedLimit; path: string }): Mistake[] {
  if (LEASABLE.includes(limit.algorithm)) return [];
  const expected = `one of ${LEASABLE.join(", ")}: units of other algorithms cannot be leased; or consistency = "strict"`;
  return [
    { code: "ERR_POLICY_CONSISTENCY", path: `${path}.algorithm`, expected, found: describeValue(limit.algorithm) },
  ];
}

function costsThatNeverPass(rules: unknown, limits: readonly ParsedLimit[], path: string): Mistake[] {
  if (!Array.isArray(rules) || limits.length === 0) return [];
  const smallest = Math.min(...limits.map((limit) => largestCost(specOf(limit))));
  return rules.flatMap((rule, i): Mistake[] => {
    const { cost: found } = (rule ?? {}) as { cost?: unknown };
    // The schema has reported values that are not numbers.
    const cost = typeof found === "string" ? Number(found) : found;
    if (typeof cost !== "number" || !(cost > smallest)) return [];
    const expected = `at most the policy's smallest limit (or burst), ${smallest}: a larger cost would never be admitted`;
    return [{ code: "ERR_POLICY_COST_NEVER", path: `${path}.cost[${i}].cost`, expected, found: String(cost) }];
  });
}

function takenNames(policies: readonly unknown[], placeOf: (i: number) => string): Mistake[] {
  const names = policies.map((policy) => (policy as { name?: unknown } | null)?.name);
  return names.flatMap((name, i): Mistake[] => {
    const first = names.indexOf(name);
    if (typeof name !== "string" || first === i) return [];
    const expected = `a name that no other policy has`;
    const found = `${describeValue(name)}, the name of ${placeOf(first)}`;
    return [{ code: "ERR_POLICY_NAME_TAKEN", path: `${placeOf(i)}.name`, expected, found }];
  });
}

/** `api-1` may be a policy with one limit, or the first limit of `api`: headers could not tell them apart. */
function takenLimitIds(policies: readonly Policy[], placeOf: (i: number) => string): Mistake[] {
  const owners = new Map<string, string>();
  return policies.flatMap(({ name, limits }, i) =>
    limits.flatMap(({ id }): Mistake[] => {
      const owner = owners.get(id);
      owners.set(id, name);
      if (owner === undefined) return [];
      const expected = "a name that gives its limits ids of their own";
      const found = `${describeValue(id)}, an id that policy ${describeValue(owner)} has too`;
      return [{ code: "ERR_POLICY_LIMIT_ID_TAKEN", path: `${placeOf(i)}.name`, expected, found }];
    }),
  );
}

function compilePolicy({ limits, ...policy }: ParsedPolicy): Policy {
  return {
    ...policy,
    limits: limits.map((limit, i): Limit => {
      const id = limits.length === 1 ? policy.name : `${policy.name}-${i + 1}`;
      return { id, algorithm: limit.algorithm, scope: limit.scope, ...specOf(limit) };
    }),
  } as Policy;
}

/** The policy as an operator could write it, with defaults filled in. `parsePolicies` reads it back. */
export function writePolicy({ limits, ...policy }: Policy): PolicyInput {
  return { ...policy, limits: limits.map(writeLimit) } as PolicyInput;
}
