/** The fields of a policy in the configuration, each by itself. policies.ts checks the fields together. */

import * as v from "valibot";
import { MAX_BUCKETS, MAX_LIMITS, MAX_LOG_UNITS, MAX_UNITS, MAX_WINDOW_MS } from "../core/layout.ts";
import type { AlgorithmName } from "../core/policy.ts";
import { type MeterUnit, toUnits, toWritten } from "../core/units.ts";
import { formOf, KEY_SOURCES } from "../keys/sources.ts";
import { isTable } from "./bindings.ts";
import { bareExpected, DURATION, type Duration, parseDurationMs } from "./duration.ts";
import { PATTERN_EXPECTED } from "./mistake.ts";
import type { PolicyInput } from "./policy-input.ts";

export type { PolicyInput };

/** The longest delay of a request: below the 100 s after which Cloudflare closes a silent connection (2026-11). */
const MAX_DELAY_MS = 60_000;
/** A slot is renewed after half of its timeout. */
const MIN_TIMEOUT_MS = 1_000;
const DEFAULT_TIMEOUT = "1m";

/** The range of each field that is a duration, ms. */
const DURATIONS_MS: Readonly<Record<"window" | "maxDelay" | "timeout", readonly [min: number, max: number]>> = {
  window: [1, MAX_WINDOW_MS],
  maxDelay: [0, MAX_DELAY_MS],
  timeout: [MIN_TIMEOUT_MS, MAX_WINDOW_MS],
};

/** The two ways to write a value. */
interface Either {
  readonly anyOf: readonly v.GenericSchema[];
}

/**
 * By schema: the range of a number or of a list's length, the form of a text, or the two ways to write a value.
 * scripts/build/build-schema.ts tells editors. (Valibot's own actions for ranges and forms add 290 bytes gzip to a
 * limiter, and `v.union` 100.)
 */
export const BOUNDS = new Map<v.GenericSchema, readonly [min: number, max: number] | RegExp | Either>();

/** @param unit the number is written in it. */
const within = (min: number, max: number, unit?: MeterUnit) => {
  const isWithin = (written: number) => {
    const number = toUnits(written, unit);
    return Number.isInteger(number) && number >= min && number <= max;
  };
  const number = v.number();
  BOUNDS.set(number, [toWritten(min, unit), toWritten(max, unit)]);
  return v.pipe(number, v.check(isWithin));
};

const text = (form: RegExp) => {
  const text = v.string();
  BOUNDS.set(text, form);
  return v.pipe(
    text,
    v.check((text) => form.test(text)),
  );
};

const list = <S extends v.GenericSchema>(item: S, min = 1, max = Number.POSITIVE_INFINITY) => {
  const list = v.array(item);
  BOUNDS.set(list, [min, max]);
  return v.pipe(
    list,
    v.check(({ length }) => length >= min && length <= max),
  );
};

/** A value that may be written in two ways. @param isSecond tells them apart. */
const either = <A extends v.GenericSchema, B extends v.GenericSchema>(
  first: A,
  isSecond: (value: unknown) => boolean,
  second: B,
) => {
  const either = v.lazy((value): A | B => (isSecond(value) ? second : first));
  BOUNDS.set(either, { anyOf: [first, second] });
  return either;
};

const isText = (value: unknown) => typeof value === "string";

/** A number, or its text: `--var` and JSON in a variable may bring numbers as text. */
const orText = <S extends v.GenericSchema<number>>(number: S) =>
  either(number, isText, v.pipe(text(/^\d{1,10}(\.\d+)?$/), v.transform(Number), number));

const integer = (min: number, max: number) => orText(within(min, max));

const boolean = either(
  v.boolean(),
  isText,
  v.pipe(
    v.picklist(["true", "false"]),
    v.transform((text) => text === "true"),
  ),
);

/** A number without a unit is refused: `window: 60` reads like a minute, and 60 ms limit nothing. */
const duration = (minMs: number, maxMs: number, form = DURATION): v.GenericSchema<Duration, number> =>
  v.pipe(
    text(form) as v.GenericSchema<Duration>,
    v.transform((text) => parseDurationMs(text)!),
    within(minMs, maxMs),
  );

/** A duration, or 0: none. */
const durationOrNone = (minMs: number, maxMs: number) =>
  either(v.picklist([0]), isText, duration(minMs, maxMs, new RegExp(`^0$|${DURATION.source}`)));

const oneOrMore = <S extends v.GenericSchema>(item: S) =>
  either(
    v.pipe(
      item,
      v.transform((one: v.InferOutput<S>) => [one]),
    ),
    Array.isArray,
    list(item),
  );

const method = v.pipe(
  text(/^[A-Za-z][A-Za-z-]{0,31}$/),
  v.transform((name) => name.toUpperCase()),
);

/** A pattern. patterns.ts checks whether it can be parsed. */
const pattern = text(/./s);

const match = {
  method: v.optional(oneOrMore(method)),
  path: v.optional(oneOrMore(pattern)),
  host: v.optional(oneOrMore(pattern)),
};

/** At least one condition: without any, the policy would leave out every request. */
const exception = v.pipe(
  v.strictObject(match),
  v.check((conditions) => Object.values(conditions).some((condition) => condition !== undefined)),
);

const rule = v.strictObject({ ...match, cost: integer(0, MAX_UNITS) });

/** Each key source as it is written. @param write writes what follows the source and a colon. */
const keyForms = (write: (name: string) => string) =>
  Object.keys(KEY_SOURCES).map((source) => {
    const { name } = formOf(source);
    return name ? `${source}:${write(name)}` : source;
  });
const KEY_PART = `(?:${keyForms((name) => name).join("|")})`;
const keyKind = text(new RegExp(`^${KEY_PART}(?:\\+${KEY_PART})*$`));

/** The sources that can name a plan. @param write as for `keyForms`. */
const planForms = (write: (name: string) => string) =>
  keyForms(write).filter((form) => !["ip", "asn", "global"].includes(form));
const planSource = text(new RegExp(`^(?:${planForms((name) => name).join("|")})$`));

/** A number of a limit as it is written. */
const units = integer(1, MAX_UNITS);
const dollars: typeof units = orText(within(1, MAX_UNITS, "usd"));

/** A table with at least one name. (`v.record` adds 300 bytes gzip to a limiter, and passes over some names.) */
const tableOf = <I, O>(item: v.GenericSchema<I, O>) =>
  v.lazy((table) => {
    const names = isTable(table) ? Object.keys(table) : [];
    const schema =
      names.length > 0 ? v.strictObject(Object.fromEntries(names.map((name) => [name, item]))) : v.picklist([]);
    return schema as v.GenericSchema<Readonly<Record<string, I>>, Readonly<Record<string, O>>>;
  });

const limit = { limit: units };
const shadowLimit = { shadowLimit: v.optional(units) };
const window = { window: duration(...DURATIONS_MS.window) };
const scope = { scope: v.optional(v.picklist(["global", "region"]), "global") };
const burst = { burst: v.optional(units) };
const named = <N extends AlgorithmName>(name: N) => ({ algorithm: v.picklist([name]) });

const DEFAULT_ALGORITHM = "sliding-window";

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
    maxDelay: v.optional(durationOrNone(...DURATIONS_MS.maxDelay), 0),
    ...scope,
  }),
  concurrency: v.strictObject({
    ...named("concurrency"),
    ...limit,
    ...shadowLimit,
    timeout: v.optional(duration(...DURATIONS_MS.timeout), DEFAULT_TIMEOUT),
    ...scope,
  }),
} as const satisfies Record<AlgorithmName, v.GenericSchema>;

const { "sliding-window": sliding, "fixed-window": fixed, "token-bucket": bucket } = LIMIT_SCHEMAS;
/**
 * The fields of a limit under a meter, by algorithm: those that charge units above the limit, and give back exactly
 * what was charged earlier.
 */
export const METERED_LIMIT_SCHEMAS = {
  tokens: { "sliding-window": sliding, "fixed-window": fixed, "token-bucket": bucket },
  usd: { "fixed-window": v.strictObject({ ...fixed.entries, limit: dollars, shadowLimit: v.optional(dollars) }) },
};

/** The fields of the limit's algorithm. (`v.variant` does the same, and adds 200 bytes gzip to a limiter.) */
const limitOf = (schemas: Readonly<Record<string, v.GenericSchema>>) =>
  v.lazy((limit) => {
    const { algorithm = DEFAULT_ALGORITHM } = (limit ?? {}) as { algorithm?: string };
    const names = Object.keys(schemas);
    const schema = names.includes(algorithm)
      ? schemas[algorithm]
      : v.object({ algorithm: v.optional(v.picklist(names), algorithm) });
    return schema as (typeof LIMIT_SCHEMAS)[AlgorithmName];
  });

/** meter.ts checks all fields of a meter. */
const meter = v.object({ unit: v.picklist(["tokens", "usd"]) });

/** @param limit the schema of one limit. @param number the schema of one number of a plan. */
const schemasOf = (limit: ReturnType<typeof limitOf>, number: typeof units, isMetered: boolean) => {
  /** Numbers by plan and by the id of a limit. plans.ts checks the names and what fits a limit. */
  const plans = tableOf(tableOf(number));
  const policy = v.strictObject({
    name: text(/^[a-z0-9][a-z0-9-]{0,31}$/),
    match: v.optional(v.strictObject(match), {}),
    except: v.optional(oneOrMore(exception)),
    key: v.optional(oneOrMore(keyKind), ["ip"]),
    cost: v.optional(list(rule, 0, isMetered ? 0 : undefined), []),
    limits: list(limit, 1, MAX_LIMITS),
    plan: v.optional(planSource),
    plans: v.optional(plans),
    consistency: v.optional(v.picklist(isMetered ? ["strict"] : ["strict", "leased"]), "strict"),
    mode: v.optional(v.picklist(["enforce", "shadow"]), "enforce"),
    onStoreFailure: v.optional(v.picklist(["local", "allow", "deny"]), "local"),
    documented: v.optional(boolean, true),
    meter: v.optional(meter),
  });
  return { policy: policy satisfies v.GenericSchema<PolicyInput, unknown>, limit, number, plans };
};

/** By the unit of a policy's meter. */
export const SCHEMAS = {
  none: schemasOf(limitOf(LIMIT_SCHEMAS), units, false),
  tokens: schemasOf(limitOf(METERED_LIMIT_SCHEMAS.tokens), units, true),
  usd: schemasOf(limitOf(METERED_LIMIT_SCHEMAS.usd), dollars, true),
};

/** The unit of a policy as it was written; a wrong one counts as tokens. */
export function unitOf(policy: unknown): keyof typeof SCHEMAS {
  const { meter } = (policy ?? {}) as { meter?: { unit?: unknown } | null };
  return meter === undefined ? "none" : meter?.unit === "usd" ? "usd" : "tokens";
}

/** The fields that a table in a policy may have. @param table absent: the policy itself. */
export function fieldsOf(table: string | undefined, algorithm: AlgorithmName = DEFAULT_ALGORITHM): string[] {
  const tables: Readonly<Record<string, object>> = {
    match,
    except: match,
    cost: rule.entries,
    limits: LIMIT_SCHEMAS[algorithm].entries,
  };
  return Object.keys(table === undefined ? SCHEMAS.none.policy.entries : tables[table]!);
}

/** The number of a limit, in words. */
export const UNITS_EXPECTED = `an integer from 1 to ${MAX_UNITS}`;

/** What replaces a limit of 0. */
export const BLOCK_INSTEAD = ' ("block" in the live document refuses every request of a client)';

/**
 * What a value was probably meant to be: a number without its unit, or a limit that lets nobody pass. Undefined: the
 * value says nothing of the kind.
 *
 * @param expected of the field.
 */
export function meantBy(field: string, value: unknown, expected: string): string | undefined {
  if (Object.hasOwn(DURATIONS_MS, field))
    return bareExpected(value, ...DURATIONS_MS[field as keyof typeof DURATIONS_MS]);
  return field === "limit" && (value === 0 || value === "0") ? `${expected}${BLOCK_INSTEAD}` : undefined;
}

/**
 * The expected value of each field, by its name. Fields of the same name have the same value, unless they are here with
 * the name of their table. Not here: fields with a few possible words, which the schema names.
 */
export const EXPECTED: Readonly<Record<string, string>> = {
  type: "a table with name, key and limits",
  name: "1 to 32 of a-z, 0-9 and -, not beginning with -",
  match: "a table with method, path or host",
  except: 'a table with method, path or host, or a list of them, for example { path = "/health" }',
  method: 'a method or a list of them, for example "POST"',
  ...PATTERN_EXPECTED,
  key: `a list of ${keyForms(() => "<name>").join(", ")}, or several joined by +`,
  cost: 'a list of rules, for example { path = "/v1/search", cost = 100 }',
  "cost.cost": `an integer from 0 to ${MAX_UNITS}`,
  "cost of meter": "no cost beside meter, which says what a request costs",
  limits: `a list of 1 to ${MAX_LIMITS} limits`,
  limit: UNITS_EXPECTED,
  "limit of sliding-log": `an integer from 1 to ${MAX_LOG_UNITS} for a sliding-log`,
  shadowLimit: UNITS_EXPECTED,
  window: 'a duration from 1ms to 31d, for example "10s" or "1h"',
  buckets: `an integer from 1 to ${MAX_BUCKETS}`,
  burst: UNITS_EXPECTED,
  maxDelay: 'a duration from 0 to 60s, for example "2s"',
  timeout: 'a duration from 1s to 31d, for example "60s"',
  plan: `one of ${planForms(() => "<name>").join(", ")}`,
  plans: "numbers by plan and limit, for example { pro = { api-1 = 100 } }",
  planNumber: UNITS_EXPECTED,
  "consistency of meter": '"strict" beside meter',
  documented: "true or false",
  unit: '"tokens" or "usd"',
  meter: 'a table with unit = "tokens" or unit = "usd"',
};
