/** The fields of a policy in the configuration, each by itself. policies.ts checks the fields together. */

import * as v from "valibot";
import { MAX_BUCKETS, MAX_LIMITS, MAX_LOG_UNITS, MAX_UNITS, MAX_WINDOW_MS } from "../core/layout.ts";
import type { AlgorithmName } from "../core/policy.ts";
import { formOf, KEY_SOURCES } from "../keys/sources.ts";
import { isTable } from "./bindings.ts";
import { parseDurationMs } from "./duration.ts";
import { type MistakeCode, PATTERN_EXPECTED } from "./mistake.ts";
import type { PolicyInput } from "./policy-input.ts";

export type { PolicyInput };

/** The longest delay of a request: below the 100 s after which Cloudflare closes a silent connection (2026-11). */
const MAX_DELAY_MS = 60_000;
/** A slot is renewed after half of its timeout. */
const MIN_TIMEOUT_MS = 1_000;
const DEFAULT_TIMEOUT_MS = 60_000;

/** By schema: the smallest and the largest integer that it takes. scripts/build/build-schema.ts tells editors. */
export const RANGES = new Map<v.GenericSchema, readonly [min: number, max: number]>();

/** (`v.integer`, `v.minValue` and `v.maxValue` add 110 bytes gzip to a limiter.) */
const within = (min: number, max: number) => {
  const isWithin = (number: number) => Number.isInteger(number) && number >= min && number <= max;
  const number = v.number();
  RANGES.set(number, [min, max]);
  return v.pipe(number, v.check(isWithin, ""));
};

/** A number, or its text: `--var` and JSON in a variable may bring numbers as text. */
const integer = (min: number, max: number) => {
  const number = within(min, max);
  return v.union([number, v.pipe(v.string(), v.regex(/^\d{1,10}$/), v.transform(Number), number)]);
};

const boolean = v.union([
  v.boolean(),
  v.pipe(
    v.picklist(["true", "false"]),
    v.transform((text) => text === "true"),
  ),
]);

const duration = (minMs: number, maxMs: number) =>
  v.pipe(v.union([v.number(), v.string()]), v.transform(parseDurationMs), within(minMs, maxMs));

const oneOrMore = <S extends v.GenericSchema<unknown, string>>(item: S) =>
  v.union([
    v.pipe(
      item,
      v.transform((one) => [one]),
    ),
    v.pipe(v.array(item), v.minLength(1)),
  ]);

const method = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z][A-Za-z-]{0,31}$/),
  v.transform((name) => name.toUpperCase()),
);

/** A pattern. patterns.ts checks whether it can be parsed. */
const pattern = v.pipe(v.string(), v.minLength(1));

const match = {
  method: v.optional(oneOrMore(method)),
  path: v.optional(oneOrMore(pattern)),
  host: v.optional(oneOrMore(pattern)),
};

/** Each key source as it is written. @param write writes what follows the source and a colon. */
const keyForms = (write: (name: string) => string) =>
  Object.keys(KEY_SOURCES).map((source) => {
    const { name } = formOf(source);
    return name ? `${source}:${write(name)}` : source;
  });
const KEY_PART = `(?:${keyForms((name) => name).join("|")})`;
const keyKind = v.pipe(v.string(), v.regex(new RegExp(`^${KEY_PART}(?:\\+${KEY_PART})*$`)));

/** The sources that can name a plan. @param write as for `keyForms`. */
const planForms = (write: (name: string) => string) =>
  keyForms(write).filter((form) => !["ip", "asn", "global"].includes(form));
const planSource = v.pipe(v.string(), v.regex(new RegExp(`^(?:${planForms((name) => name).join("|")})$`)));

/** The number of a limit on a plan. */
export const planNumber = integer(1, MAX_UNITS);

/** A table with at least one name. (`v.record` adds 300 bytes gzip to a limiter, and passes over some names.) */
const tableOf = <I, O>(item: v.GenericSchema<I, O>) =>
  v.lazy((table) => {
    const names = isTable(table) ? Object.keys(table) : [];
    const schema =
      names.length > 0 ? v.strictObject(Object.fromEntries(names.map((name) => [name, item]))) : v.picklist([]);
    return schema as v.GenericSchema<Readonly<Record<string, I>>, Readonly<Record<string, O>>>;
  });

/** Numbers by plan and by the id of a limit. plans.ts checks the names and what fits a limit. */
export const plansSchema = tableOf(tableOf(planNumber));

const limit = { limit: integer(1, MAX_UNITS) };
const shadowLimit = { shadowLimit: v.optional(integer(1, MAX_UNITS)) };
const window = { window: duration(1, MAX_WINDOW_MS) };
const scope = { scope: v.optional(v.picklist(["global", "region"]), "global") };
const burst = { burst: v.optional(integer(1, MAX_UNITS)) };
const named = <N extends AlgorithmName>(name: N) => ({ algorithm: v.picklist([name]) });

export const DEFAULT_ALGORITHM = "sliding-window";

/** The fields of a limit, by algorithm. */
export const LIMIT_SCHEMAS = {
  "sliding-window": v.strictObject({
    algorithm: v.optional(v.picklist([DEFAULT_ALGORITHM]), DEFAULT_ALGORITHM),
    ...limit,
    ...shadowLimit,
    ...window,
    buckets: v.optional(integer(1, MAX_BUCKETS), 1),
    oldest: v.optional(v.picklist(["weighted", "whole"]), "weighted"),
    ...scope,
  }),
  "fixed-window": v.strictObject({ ...named("fixed-window"), ...limit, ...shadowLimit, ...window, ...scope }),
  "sliding-log": v.strictObject({
    ...named("sliding-log"),
    limit: integer(1, MAX_LOG_UNITS),
    ...shadowLimit,
    ...window,
    ...scope,
  }),
  "token-bucket": v.strictObject({ ...named("token-bucket"), ...limit, ...window, ...burst, ...scope }),
  "leaky-bucket": v.strictObject({
    ...named("leaky-bucket"),
    ...limit,
    ...window,
    ...burst,
    maxDelay: v.optional(duration(0, MAX_DELAY_MS), 0),
    ...scope,
  }),
  concurrency: v.strictObject({
    ...named("concurrency"),
    ...limit,
    ...shadowLimit,
    timeout: v.optional(duration(MIN_TIMEOUT_MS, MAX_WINDOW_MS), DEFAULT_TIMEOUT_MS),
    ...scope,
  }),
} as const satisfies Record<AlgorithmName, v.GenericSchema>;

const ALGORITHM_NAMES = Object.keys(LIMIT_SCHEMAS) as AlgorithmName[];
const unknownAlgorithm = v.object({ algorithm: v.picklist(ALGORITHM_NAMES) });

/** The fields of the limit's algorithm. (`v.variant` does the same, and adds 200 bytes gzip to a limiter.) */
export const limitSchema = v.lazy((limit) => {
  const { algorithm = DEFAULT_ALGORITHM } = (limit ?? {}) as { algorithm?: AlgorithmName };
  const schema = ALGORITHM_NAMES.includes(algorithm) ? LIMIT_SCHEMAS[algorithm] : unknownAlgorithm;
  return schema as (typeof LIMIT_SCHEMAS)[AlgorithmName];
});

export const policySchema = v.strictObject({
  name: v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]{0,31}$/)),
  match: v.optional(v.strictObject(match), {}),
  key: v.optional(oneOrMore(keyKind), ["ip"]),
  cost: v.optional(v.array(v.strictObject({ ...match, cost: integer(0, MAX_UNITS) })), []),
  limits: v.pipe(v.array(limitSchema), v.minLength(1), v.maxLength(MAX_LIMITS)),
  plan: v.optional(planSource),
  plans: v.optional(plansSchema),
  consistency: v.optional(v.picklist(["strict", "leased"]), "strict"),
  mode: v.optional(v.picklist(["enforce", "shadow"]), "enforce"),
  onStoreFailure: v.optional(v.picklist(["local", "allow", "deny"]), "local"),
  documented: v.optional(boolean, true),
}) satisfies v.GenericSchema<PolicyInput, unknown>;

const METHOD = 'a method or a list of them, for example "POST"';

/** The expected value of each field, by its path within a policy. */
export const EXPECTED: Readonly<Record<string, readonly [MistakeCode, string]>> = {
  "": ["ERR_POLICY_TYPE", "a table with name, key and limits"],
  name: ["ERR_POLICY_NAME", "1 to 32 of a-z, 0-9 and -, not beginning with -"],
  match: ["ERR_POLICY_MATCH", "a table with method, path or host"],
  "match.method": ["ERR_POLICY_MATCH", METHOD],
  "match.path": ["ERR_POLICY_MATCH", PATTERN_EXPECTED.path],
  "match.host": ["ERR_POLICY_MATCH", PATTERN_EXPECTED.host],
  key: ["ERR_POLICY_KEY", `a list of ${keyForms(() => "<name>").join(", ")}, or several joined by +`],
  cost: ["ERR_POLICY_COST", 'a list of rules, for example { path = "/v1/search", cost = 100 }'],
  "cost.method": ["ERR_POLICY_COST", METHOD],
  "cost.path": ["ERR_POLICY_COST", PATTERN_EXPECTED.path],
  "cost.host": ["ERR_POLICY_COST", PATTERN_EXPECTED.host],
  "cost.cost": ["ERR_POLICY_COST", `an integer from 0 to ${MAX_UNITS}`],
  limits: ["ERR_POLICY_LIMITS", `a list of 1 to ${MAX_LIMITS} limits`],
  "limits.algorithm": ["ERR_POLICY_ALGORITHM", `one of ${ALGORITHM_NAMES.join(", ")}`],
  "limits.limit": ["ERR_POLICY_LIMIT", `an integer from 1 to ${MAX_UNITS}`],
  "limits.limit of sliding-log": ["ERR_POLICY_LIMIT", `an integer from 1 to ${MAX_LOG_UNITS} for a sliding-log`],
  "limits.shadowLimit": ["ERR_POLICY_SHADOW_LIMIT", `an integer from 1 to ${MAX_UNITS}`],
  "limits.window": ["ERR_POLICY_WINDOW", 'a duration from 1ms to 31d, for example "10s" or "1h"'],
  "limits.buckets": ["ERR_POLICY_BUCKETS", `an integer from 1 to ${MAX_BUCKETS}`],
  "limits.oldest": ["ERR_POLICY_OLDEST", '"weighted" or "whole"'],
  "limits.burst": ["ERR_POLICY_BURST", `an integer from 1 to ${MAX_UNITS}`],
  "limits.maxDelay": ["ERR_POLICY_MAX_DELAY", 'a duration from 0 to 60s, for example "2s"'],
  "limits.timeout": ["ERR_POLICY_TIMEOUT", 'a duration from 1s to 31d, for example "60s"'],
  "limits.scope": ["ERR_POLICY_SCOPE", '"global" or "region"'],
  plan: ["ERR_POLICY_PLAN", `one of ${planForms(() => "<name>").join(", ")}`],
  plans: ["ERR_POLICY_PLANS", "numbers by plan and limit, for example { pro = { api-1 = 100 } }"],
  "plans.number": ["ERR_POLICY_PLAN_NUMBER", `an integer from 1 to ${MAX_UNITS}`],
  consistency: ["ERR_POLICY_CONSISTENCY", '"strict" or "leased"'],
  mode: ["ERR_POLICY_MODE", '"enforce" or "shadow"'],
  onStoreFailure: ["ERR_POLICY_ON_STORE_FAILURE", '"local", "allow" or "deny"'],
  documented: ["ERR_POLICY_DOCUMENTED", "true or false"],
};
