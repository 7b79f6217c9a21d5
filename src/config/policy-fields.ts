/** The fields of policies, checked each by itself and together. Only patterns are left to policies.ts. */

import * as v from "valibot";
import { type AlgorithmName, algorithmOf, type LimitSpec, NAMED } from "../core/algorithms.ts";
import { isConcurrency } from "../core/concurrency.ts";
import { formatDuration, parseDurationMs } from "../core/duration.ts";
import type { Field } from "../core/named.ts";
import { misfit, withWritten } from "../core/numbers.ts";
import type { Limit, Policy } from "../core/policy.ts";
import { recordIdOf } from "../core/records.ts";
import { DOLLARS_EXPECTED, type MeterUnit, toUnits } from "../core/units.ts";
import { isTable, parseJson } from "./bindings.ts";
import { largestCost, writeLimit } from "./limits.ts";
import { describeValue, type Mistake, type MistakeCode, mistakeAbout, type Parsed } from "./mistake.ts";
import { canGiveBack, withChains } from "./policy-chains.ts";
import type { PolicyInput } from "./policy-input.ts";
import {
  EXPECTED,
  fieldsOf,
  MODEL,
  meantBy,
  type ParsedLimit,
  SCHEMAS,
  UNITS_EXPECTED,
  type Unit,
  unitOf,
} from "./policy-schema.ts";

/** What to write instead of a field that is gone. */
const INSTEAD: Readonly<Record<string, string>> = {
  shadowLimit:
    'no shadowLimit: a second policy asks it, for example { name = "api-trial", mode = "shadow", limits = [{ limit = 300, window = "1m" }] }',
};

const DEFAULT_SYNC = "1s";
/** The least window under `shared`, as a multiple of `sync`: a unit must be told before it leaves its window. */
const LEAST_SYNCS = 2;

const ALGORITHMS = Object.keys(NAMED) as AlgorithmName[];

/** Algorithms whose units can be charged before a request comes. */
export const LEASABLE = ALGORITHMS.filter((name) => algorithmOf(NAMED[name]).lease && !NAMED[name].isNeverLeased);

type ParsedPolicy = v.InferOutput<(typeof SCHEMAS)["none"]["policy"]>;

/** @param policy as it was written. @param path of the policy in messages. */
export type FindMistakes = (policy: unknown, path: string) => readonly Mistake[];

/**
 * Checks a list of policies: see `parsePolicies`.
 *
 * @param more finds further mistakes in a policy. Absent: no further mistakes are looked for.
 */
export function parseFields(
  input: unknown,
  path: string,
  paths?: readonly string[],
  more?: FindMistakes,
): Parsed<readonly Policy[]> {
  if (!Array.isArray(input) || input.length === 0) {
    return { mistakes: [mistakeAbout("ERR_POLICIES_MISSING", path, "a list of at least one policy", input)] };
  }
  const pathOf = (i: number) => paths?.[i] ?? `${path}[${i}]`;
  const parsed = input.map((policy) => v.safeParse(SCHEMAS[unitOf(policy)].policy, policy, { abortPipeEarly: true }));
  const mistakes = [
    ...parsed.flatMap(({ success, output, issues = [] }, i) => [
      ...issues.map((issue) => fieldMistake(issue, pathOf(i), unitOf(input[i]))),
      ...wrongModels(input[i], pathOf(i)),
      ...refusalMistakes(input[i], pathOf(i)),
      ...(more?.(input[i], pathOf(i)) ?? []),
      ...limitMistakes(input[i], pathOf(i), success ? (output as ParsedPolicy).limits : undefined),
    ]),
    ...takenNames(input, pathOf),
  ];
  if (mistakes.length > 0) return { mistakes };

  const policies = parsed.map(({ output }) => compilePolicy(output as ParsedPolicy));
  const taken = takenLimitIds(policies, pathOf);
  return taken.length > 0 ? { mistakes: taken } : withChains(policies, pathOf);
}

/** Valibot says where the field is. The expected value is looked up by the field's name. */
function fieldMistake(issue: v.BaseIssue<unknown>, policyPath: string, unit: Unit): Mistake {
  const keys = issue.path?.map(({ key }) => key as string | number) ?? [];
  const path = keys.reduce<string>(
    (at, key) => (typeof key === "number" ? `${at}[${key}]` : `${at}.${key}`),
    policyPath,
  );
  const names = keys.filter((key) => typeof key === "string");
  const [table = "type", name] = names;
  const last = issue.path?.at(-1) as v.ObjectPathItem | undefined;
  // As it was written: the issue may have the default.
  const value: unknown = last ? last.input[last.key] : issue.input;
  const field = fieldOf(names, value);
  const named = last?.input.algorithm;
  const algorithm = typeof named === "string" ? (named as AlgorithmName) : undefined;
  if (issue.type === "strict_object" && issue.expected === "never") {
    const owner = name === undefined ? name : names.length > 2 ? "prices" : table;
    const expected = INSTEAD[field] ?? `only the fields ${fieldsOf(owner, algorithm).join(", ")}`;
    return mistakeAbout("ERR_POLICY_FIELD", path, expected, value);
  }
  const expected =
    EXPECTED[`${table}.${name}`] ??
    EXPECTED[`${field} of ${unit === "none" ? algorithm : "meter"}`] ??
    EXPECTED[`${field} of ${unit}`] ??
    EXPECTED[field] ??
    issue.expected!.replace(/[()]/g, "").replaceAll(" | ", " or ");
  const isDollars = unit === "usd" && table !== "meter" && expected === UNITS_EXPECTED;
  const code = codeOf(table === "limits" || table === "plans" ? field : name === "prices" ? name : table);
  const right = isDollars ? DOLLARS_EXPECTED : expected;
  return mistakeAbout(code, path, meantBy(field, value, right, unit, algorithm) ?? right, value);
}

/**
 * The name by which `EXPECTED` knows a field. Below `plans` and `prices` the names are the operator's own.
 *
 * @param names on the way to the field, from the policy on.
 */
function fieldOf([table = "type", name, own, ownField]: readonly string[], value: unknown): string {
  if (table === "plans") return own === undefined ? table : "planNumber";
  if (name !== "prices" || own === undefined) return name ?? table;
  if (ownField !== undefined) return "dollarsPerMillion";
  return own === "default" && value === undefined ? "defaultPrice" : "modelPrice";
}

/** The code for a wrong field: `maxDelay` has `ERR_POLICY_MAX_DELAY`. */
function codeOf(field: string): MistakeCode {
  return `ERR_POLICY_${field.replace(/[A-Z]/g, "_$&").toUpperCase()}` as MistakeCode;
}

/** The names in a meter's prices that no model can have. */
function wrongModels(policy: unknown, path: string): Mistake[] {
  if (unitOf(policy) !== "usd") return [];
  const { meter } = policy as { meter?: { prices?: unknown } };
  const expected = "models of 1 to 128 letters, digits and * . _ : / @ + -";
  return entries(meter?.prices).flatMap(([model]) =>
    MODEL.test(model) ? [] : mistakeAbout("ERR_POLICY_PRICES", `${path}.meter.prices`, expected, model),
  );
}

/**
 * Checks a limit's fields together, and a policy's limits together. A limit with a wrong field is left out.
 *
 * @param checked the limits of a policy whose fields are right. Absent: each limit is checked by itself.
 */
function limitMistakes(policy: unknown, path: string, checked?: readonly ParsedLimit[]): Mistake[] {
  const written = (policy ?? {}) as Record<string, unknown>;
  const { name, limits: list, cost: rules } = written;
  const inputs: unknown[] = Array.isArray(list) ? list : [];
  const unit = unitOf(policy);
  const read = new Map<string, Limit | undefined>();
  const parsed = inputs.flatMap((input, i) => {
    const right = checked?.[i];
    const { success, output } = right ? { success: true, output: right } : v.safeParse(SCHEMAS[unit].limit, input);
    // A policy without a name has no ids.
    const id = typeof name === "string" ? idOf(name, i, inputs.length) : "";
    const compiled = success ? compileLimit(output, id, unit === "none" ? undefined : unit) : undefined;
    if (id) read.set(id, compiled);
    return success ? [{ limit: output, compiled: compiled!, path: `${path}.limits[${i}]` }] : [];
  });
  const { planned, mistakes } = checkPlans(written, read, path);
  return [
    ...parsed.flatMap(rangeMistakes),
    ...limitsTwice(parsed),
    ...mistakes,
    ...besideMistakes(written, parsed, path),
    ...costsThatNeverPass(rules, [...parsed.map(({ compiled }) => compiled), ...planned], path),
  ];
}

interface CheckedLimit {
  readonly limit: ParsedLimit;
  readonly compiled: Limit;
  readonly path: string;
}

function rangeMistakes({ limit, compiled, path }: CheckedLimit): Mistake[] {
  const unfit = NAMED[limit.algorithm].misfit?.(limit);
  if (unfit) {
    const { field, expected } = unfit;
    return [{ code: codeOf(field), path: `${path}.${field}`, expected, found: String(limit[field]) }];
  }
  const expected = misfit(compiled);
  const units = Object.entries<Field>(NAMED[limit.algorithm].fields).filter(([, { is }]) => is === "units");
  const field = units.findLast(([name]) => limit[name] !== undefined)![0];
  if (expected === undefined) return [];
  return [{ code: "ERR_POLICY_RANGE", path: `${path}.${field}`, expected, found: String(largestCost(compiled)) }];
}

/** Two limits of a policy that would share one record. Of two windows, the larger limit could never be reached. */
function limitsTwice(limits: readonly CheckedLimit[]): Mistake[] {
  const seen = new Map<string, string>();
  return limits.flatMap(({ compiled, path }): Mistake[] => {
    const identity = `${compiled.scope} ${recordIdOf(compiled)}`;
    const first = seen.get(identity);
    if (first === undefined) {
      seen.set(identity, path);
      return [];
    }
    // A delay is no part of what is counted.
    const names = Object.entries<Field>(NAMED[compiled.algorithm].fields).flatMap(([name, field]) =>
      field.is === "units" || ("default" in field && field.default === 0) ? [] : name,
    );
    const expected = `another ${names.join(", ")} or scope: with the same ones both limits would share one count`;
    return [{ code: "ERR_POLICY_LIMIT_TWICE", path, expected, found: `the same as ${first}` }];
  });
}

/** Checks the fields of a policy that must fit each other. */
function besideMistakes(
  written: Readonly<Record<string, unknown>>,
  limits: readonly CheckedLimit[],
  path: string,
): Mistake[] {
  const { consistency, sync, onStoreFailure, count, once, onceFor, repeats, meter } = written;
  const mistakes: Mistake[] = [];
  const wrong = (code: MistakeCode, field: string, expected: string) => {
    mistakes.push(mistakeAbout(code, `${path}.${field}`, expected, written[field]));
  };
  const expectAlgorithms = (isRight: (algorithm: AlgorithmName) => boolean, code: MistakeCode, expected: string) => {
    for (const { limit, path } of limits) {
      if (!isRight(limit.algorithm)) mistakes.push(mistakeAbout(code, `${path}.algorithm`, expected, limit.algorithm));
    }
  };

  const isAhead = consistency === "leased" || consistency === "shared";
  if (isAhead) {
    const expected = `one of ${LEASABLE.join(", ")}: units of other algorithms cannot be leased or shared; or consistency = "strict"`;
    expectAlgorithms((algorithm) => LEASABLE.includes(algorithm), "ERR_POLICY_CONSISTENCY", expected);
  }
  if (consistency === "shared") {
    // The isolate decides by its own counts whether the store answers or not.
    if (onStoreFailure === "allow" || onStoreFailure === "deny") {
      const expected = '"local" beside consistency = "shared", which always decides by its own counts';
      wrong("ERR_POLICY_CONSISTENCY", "onStoreFailure", expected);
    }
    mistakes.push(...tooShortToShare(limits, sync));
  } else if (sync !== undefined) {
    wrong("ERR_POLICY_SYNC", "sync", 'no sync without consistency = "shared"');
  }

  // Units can come back only to limits that give back exactly what was charged, and only if nothing is leased.
  const isByStatus = count === "failures" || count === "successes";
  if (isByStatus) {
    const beside = `beside count = "${count}"`;
    if (isAhead) wrong("ERR_POLICY_COUNT", "consistency", `"strict" ${beside}`);
    expectAlgorithms(canGiveBack, "ERR_POLICY_COUNT", `one of ${ALGORITHMS.filter(canGiveBack).join(", ")} ${beside}`);
  }

  if (once === undefined) {
    const needed = "once beside it, which says where a request names itself";
    if (onceFor !== undefined) wrong("ERR_POLICY_ONCE_FOR", "onceFor", needed);
    if (repeats !== undefined) wrong("ERR_POLICY_REPEATS", "repeats", needed);
    return mistakes;
  }
  if (meter !== undefined) wrong("ERR_POLICY_ONCE", "once", "no once beside meter: a repeat asks the model again");
  if (isByStatus) wrong("ERR_POLICY_ONCE", "count", '"all" beside once, which charges before the status is known');
  const expected = "another algorithm beside once: a repeat needs a slot as any request does";
  expectAlgorithms((algorithm) => algorithm !== "concurrency", "ERR_POLICY_ONCE", expected);
  return mistakes;
}

/** Under `shared` an isolate tells the store what it has admitted often enough for every window. */
function tooShortToShare(limits: readonly CheckedLimit[], sync: unknown = DEFAULT_SYNC): Mistake[] {
  const syncMs = typeof sync === "string" ? parseDurationMs(sync) : undefined;
  // Its own schema has reported a wrong one.
  if (syncMs === undefined) return [];
  const leastMs = LEAST_SYNCS * syncMs;
  const expected = `a window of at least ${formatDuration(leastMs)}: ${LEAST_SYNCS} times sync; or a shorter sync, or consistency = "strict"`;
  return limits.flatMap(({ compiled, path }) => {
    const { windowMs } = algorithmOf(compiled).capacity(compiled);
    if (isConcurrency(compiled) || windowMs >= leastMs) return [];
    return mistakeAbout("ERR_POLICY_SYNC", `${path}.window`, expected, formatDuration(windowMs));
  });
}

/** Of a policy's own refusal. */
const DEFAULT_TYPE = "application/json";
const PLACEHOLDERS = ["{retryAfter}", "{policy}", "{limit}"];

/** A wrong body would be sent to every refused client, and nobody would notice before. */
function refusalMistakes(policy: unknown, path: string): Mistake[] {
  const { refusal } = (policy ?? {}) as { refusal?: unknown };
  const { type, body }: Record<string, unknown> = isTable(refusal) ? refusal : {};
  // The schema has reported other values.
  if (typeof (type ?? "") !== "string" || typeof (body ?? "") !== "string" || body === "") return [];
  const mistake = (field: string, expected: string, found: unknown) => [
    mistakeAbout("ERR_POLICY_REFUSAL", `${path}.refusal.${field}`, expected, found),
  ];
  if (typeof body !== "string") return type === undefined ? [] : mistake("body", "a body beside type", body);
  const unknown = body.match(/\{\s*\w+\s*\}/g)?.find((one) => !PLACEHOLDERS.includes(one));
  if (unknown !== undefined) return mistake("body", `only the placeholders ${PLACEHOLDERS.join(", ")}`, unknown);
  if (typeof type === "string" && !/^[^;]*[/+]json\b/i.test(type)) return [];
  // Names and ids are of a-z, 0-9 and -: with any of them a body is JSON, or with none.
  const isJson = (seconds: string) =>
    parseJson(body.replaceAll("{retryAfter}", seconds).replaceAll(/\{(?:policy|limit)\}/g, "a-1")) !== undefined;
  if (isJson("1") && isJson("null")) return [];
  return mistake("body", 'JSON, or a type such as "text/plain"; {policy} and {limit} are texts and need quotes', body);
}

const PLAN_NAME = /^[a-z\d][\w.:-]{0,63}$/i;
const NAME_EXPECTED = "1 to 64 of a-z, A-Z, 0-9 and _ . : -, not beginning with a mark";

/**
 * Checks the plans of a policy together with its limits. The schema has checked each number by itself.
 *
 * @param limits of the policy, by id. Undefined: a wrong one. @param path of the policy in messages.
 * @returns the limits with the numbers of all plans, and mistakes.
 */
function checkPlans(
  { plan, plans }: { readonly plan?: unknown; readonly plans?: unknown },
  limits: ReadonlyMap<string, Limit | undefined>,
  path: string,
): { readonly planned: readonly Limit[]; readonly mistakes: readonly Mistake[] } {
  const [planned, mistakes]: [Limit[], Mistake[]] = [[], []];
  const wrong = (code: MistakeCode, below: string, expected: string, found: unknown) => {
    mistakes.push(mistakeAbout(code, `${path}.plans${below}`, expected, found));
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

/** @param limits of the policy, as written and under each plan. */
function costsThatNeverPass(rules: unknown, limits: readonly LimitSpec[], path: string): Mistake[] {
  if (!Array.isArray(rules) || limits.length === 0) return [];
  const smallest = Math.min(...limits.map(largestCost));
  return rules.flatMap((rule, i): Mistake[] => {
    const { cost: found } = (rule ?? {}) as { cost?: unknown };
    // The schema has reported values that are not numbers.
    const cost = typeof found === "string" ? Number(found) : found;
    if (typeof cost !== "number" || !(cost > smallest)) return [];
    const expected = `at most the policy's smallest limit (or burst), ${smallest}: a larger cost would never be admitted`;
    return [{ code: "ERR_POLICY_COST_NEVER", path: `${path}.cost[${i}].cost`, expected, found: String(cost) }];
  });
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

function compilePolicy({ limits, count, refusal, sync, once, onceFor, repeats, ...policy }: ParsedPolicy): Policy {
  return {
    ...policy,
    ...(count !== "all" && { count }),
    ...(policy.consistency === "shared" && { syncMs: sync ?? parseDurationMs(DEFAULT_SYNC) }),
    ...(once !== undefined && { once: { source: once, forMs: onceFor, repeats } }),
    ...(refusal && { refusal: refusal.body === undefined ? refusal : { type: DEFAULT_TYPE, ...refusal } }),
    limits: limits.map((limit, i) => compileLimit(limit, idOf(policy.name, i, limits.length), policy.meter?.unit)),
  } as Policy;
}

function idOf(name: string, position: number, limits: number): string {
  return limits === 1 ? name : `${name}-${position + 1}`;
}

function compileLimit(written: ParsedLimit, id: string, unit: MeterUnit | undefined): Limit {
  const limit = { ...written, limit: toUnits(written.limit, unit) };
  const { algorithm, scope } = limit;
  return {
    id,
    algorithm,
    scope,
    ...(unit && { unit }),
    ...NAMED[algorithm].limitOf(limit),
  };
}

/** The policy as an operator could write it, with defaults filled in. `parsePolicies` reads it back. */
export function writePolicy({ limits, syncMs, once, chain: _, isOverflow: __, ...policy }: Policy): PolicyInput {
  const sync = syncMs !== undefined && { sync: formatDuration(syncMs) };
  const written = once && { once: once.source, onceFor: formatDuration(once.forMs), repeats: once.repeats };
  return { ...policy, ...sync, ...written, limits: limits.map(writeLimit) } as PolicyInput;
}
