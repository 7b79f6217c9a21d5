/** The fields of a policy in the configuration, each by itself. policy-fields.ts checks the fields together. */

import * as v from "valibot";
import { type AlgorithmName, NAMED } from "../core/algorithms.ts";
import { bareExpected, DURATION, type Duration, parseDurationMs } from "../core/duration.ts";
import { MAX_LIMITS, MAX_REPEATS, MAX_UNITS, ONCE_MS_RANGE } from "../core/layout.ts";
import type { Field, Values } from "../core/named.ts";
import { type MeterUnit, toUnits, toWritten } from "../core/units.ts";
import { rangeExpected } from "../keys/address-range.ts";
import { formOf, KEY_SOURCES } from "../keys/sources.ts";
import { isTable } from "./bindings.ts";
import { PATTERN_EXPECTED } from "./mistake.ts";
import type { LimitInput, PolicyInput } from "./policy-input.ts";

export type { PolicyInput };

/** The two ways to write a value. */
interface Either {
  readonly anyOf: readonly v.GenericSchema[];
}

/** A table whose names are the operator's own. */
interface Table {
  readonly item: v.GenericSchema;
  /** The form of the names. Absent: code says it. */
  readonly names?: RegExp;
  readonly required?: readonly string[];
}

/**
 * By schema: the two ways to write a value, or what a table holds. scripts/build/build-schema.ts tells editors.
 * (`v.union` adds 100 bytes gzip to a limiter, and loses the path of a mistake.)
 */
export const CHOICES = new Map<v.GenericSchema, Either | Table>();

const within = (min: number, max: number) => v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));

const text = (form: RegExp) => v.pipe(v.string(), v.regex(form));

/** A value that may be written in two ways. @param isSecond tells them apart. */
const either = <A extends v.GenericSchema, B extends v.GenericSchema>(
  first: A,
  isSecond: (value: unknown) => boolean,
  second: B,
) => {
  const either = v.lazy((value): A | B => (isSecond(value) ? second : first));
  CHOICES.set(either, { anyOf: [first, second] });
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

const durationOrNone = (minMs: number, maxMs: number) =>
  either(v.picklist([0]), isText, duration(minMs, maxMs, new RegExp(`^0$|${DURATION.source}`)));

const oneOrMore = <S extends v.GenericSchema>(item: S, most = Number.POSITIVE_INFINITY) =>
  either(
    v.pipe(
      item,
      v.transform((one: v.InferOutput<S>) => [one]),
    ),
    Array.isArray,
    v.pipe(v.array(item), v.minLength(1), v.maxLength(most)),
  );

const method = v.pipe(
  text(/^[A-Za-z][A-Za-z-]{0,31}$/),
  v.transform((name) => name.toUpperCase()),
);

/** A pattern. policies.ts checks whether it can be parsed. */
const pattern = text(/./s);

/** Other characters stand in no name of a method or tool: whoever writes them means another syntax. */
const callName = text(/^[^\s\\(){}[\]?+^|"'`,]{1,128}$/u);

const match = {
  method: v.optional(oneOrMore(method)),
  path: v.optional(oneOrMore(pattern)),
  host: v.optional(oneOrMore(pattern)),
  rpc: v.optional(oneOrMore(callName)),
  tool: v.optional(oneOrMore(callName)),
};

/** At least one condition: without any, the policy would leave out every request. */
const exception = v.pipe(
  v.strictObject(match),
  v.check((conditions) => Object.values(conditions).some((condition) => condition !== undefined)),
);

/** Every request that a policy matches may be compared with each of them. */
const MAX_EXEMPT = 100;
const addressRange = v.pipe(
  v.string(),
  v.check((range) => rangeExpected(range) === undefined),
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

/** The sources that can say the id of a request: those that a client sets. @param write as for `keyForms`. */
const onceForms = (write: (name: string) => string) =>
  planForms(write).filter((form) => !["country", "host", "region"].includes(form));
const onceSource = text(new RegExp(`^(?:${onceForms((name) => name).join("|")})$`));

/** A number of a limit as it is written. */
const units = integer(1, MAX_UNITS);
/** The same in dollars, of which each unit is a part. */
const dollars = orText(
  v.pipe(
    v.number(),
    v.check((written) => Number.isInteger(toUnits(written, "usd"))),
    v.minValue(toWritten(1, "usd")),
    v.maxValue(toWritten(MAX_UNITS, "usd")),
  ),
);

/** A table with at least one name. (`v.record` adds 300 bytes gzip to a limiter, and passes over some names.) */
const tableOf = <I, O>(item: v.GenericSchema<I, O>, bounds: Omit<Table, "item"> = {}) => {
  const { required = [] } = bounds;
  const table = v.lazy((table) => {
    const names = isTable(table) ? [...required, ...Object.keys(table)] : [];
    const schema =
      names.length > 0 ? v.strictObject(Object.fromEntries(names.map((name) => [name, item]))) : v.picklist([]);
    return schema as v.GenericSchema<Readonly<Record<string, I>>, Readonly<Record<string, O>>>;
  });
  CHOICES.set(table, { ...bounds, item });
  return table;
};

const DEFAULT_ALGORITHM = "sliding-window";

/** @param unit of the policy's meter. */
const schemaOf = (field: Field, unit: MeterUnit | undefined): v.GenericSchema => {
  switch (field.is) {
    case "units":
      return orRequired(unit === "usd" ? dollars : integer(1, field.most), field);
    case "integer":
      return orRequired(integer(field.least, field.most), field);
    case "duration":
      if (field.default === 0) return v.optional(durationOrNone(field.leastMs, field.mostMs), 0);
      return orRequired(duration(field.leastMs, field.mostMs), field);
    case "word":
      return orRequired(v.picklist(field.words), field);
    case "text":
      return v.optional(v.pipe(v.string(), v.check(field.isRight)), field.default);
  }
};

/** A field with neither a default nor leave to be absent is required. */
const orRequired = (
  schema: v.GenericSchema,
  field: { readonly default?: number | string; readonly isOptional?: true },
): v.GenericSchema => (field.default === undefined && !field.isOptional ? schema : v.optional(schema, field.default));

const NAMES = Object.keys(NAMED) as AlgorithmName[];

/** @param unit as for `schemaOf`. */
const limitSchema = (name: AlgorithmName, unit?: MeterUnit) => {
  const { limit, ...others } = NAMED[name].fields;
  const named = v.picklist([name]);
  return v.strictObject({
    algorithm: name === DEFAULT_ALGORITHM ? v.optional(named, name) : named,
    limit: schemaOf(limit, unit),
    ...Object.fromEntries(Object.entries<Field>(others).map(([field, one]) => [field, schemaOf(one, unit)])),
    scope: v.optional(v.picklist(["global", "region"]), "global"),
  } as v.ObjectEntries);
};

/** The fields of a limit by its algorithm. Under a meter: only the algorithms that can count beside it. */
const limitSchemas = (unit?: MeterUnit) => {
  const names = NAMES.filter((name) => unit === undefined || NAMED[name].meters?.includes(unit));
  return Object.fromEntries(names.map((name) => [name, limitSchema(name, unit)]));
};

/** The fields of a limit, by the unit of its policy's meter and by its algorithm. */
export const LIMIT_SCHEMAS = {
  none: limitSchemas() as Readonly<Record<AlgorithmName, ReturnType<typeof limitSchema>>>,
  tokens: limitSchemas("tokens"),
  usd: limitSchemas("usd"),
};

/** A limit with its defaults filled in and its durations in milliseconds. */
export type ParsedLimit = Values & {
  readonly algorithm: AlgorithmName;
  readonly scope: "global" | "region";
};

/** The fields of the limit's algorithm. (`v.variant` does the same, and adds 200 bytes gzip to a limiter.) */
const limitOf = (schemas: Readonly<Record<string, v.GenericSchema | undefined>>) =>
  v.lazy((limit) => {
    const { algorithm = DEFAULT_ALGORITHM } = (limit ?? {}) as { algorithm?: string };
    const names = Object.keys(schemas);
    const schema = names.includes(algorithm)
      ? schemas[algorithm]
      : v.object({ algorithm: v.optional(v.picklist(names), algorithm) });
    return schema as v.GenericSchema<LimitInput, ParsedLimit>;
  });

const dollarsPerMillion = orText(v.pipe(v.number(), v.minValue(0), v.finite()));

const price = v.strictObject({
  input: dollarsPerMillion,
  cachedInput: v.optional(dollarsPerMillion),
  output: dollarsPerMillion,
});

/** The names of prices: a model, or `*` for any text in it. */
export const MODEL = /^[\w*.:/@+-]{1,128}$/;

const meterOf = <P extends v.GenericSchema>(prices: P) =>
  v.strictObject({
    unit: v.picklist(["tokens", "usd"]),
    maxOutput: v.optional(integer(1, MAX_UNITS), 4_096),
    perImage: v.optional(integer(0, MAX_UNITS), 1_000),
    onExceeded: v.optional(v.picklist(["finish", "cut"]), "finish"),
    prices,
  });

const METERS = {
  tokens: meterOf(v.optional(v.never())),
  usd: meterOf(tableOf(price, { names: MODEL, required: ["default"] })),
};

/** The statuses of refusals that clients understand as "not now". */
const REFUSAL_STATUSES: readonly number[] = [402, 403, 420, 421, 422, 423, 424, 425, 426, 427, 428, 429, 503];
/** Characters. Every refusal sends it. */
const LONGEST_BODY = 8_192;

/** The codes of JSON-RPC that clients keep in 32 bits. JSON-RPC itself has those from -32768 to -32000. */
const MAX_CODE = 2_147_483_647;

/** policy-fields.ts checks what stands in the body. */
const refusal = v.strictObject({
  status: v.optional(orText(v.picklist(REFUSAL_STATUSES)), 429),
  type: v.optional(text(/^[\w.+-]{1,64}\/[\w.+-]{1,64}(?: *; *[\w.+-]{1,64}=(?:[\w.+-]{1,64}|"[\w.+ -]{1,64}"))*$/)),
  body: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(LONGEST_BODY))),
  code: v.optional(
    orText(
      v.pipe(
        within(-MAX_CODE, MAX_CODE),
        v.check((code) => code < -32_768 || code > -32_000),
      ),
    ),
  ),
});

const policyName = text(/^[a-z0-9][a-z0-9-]{0,31}$/);

/** How often an isolate tells the store what it has admitted. */
const [LEAST_SYNC_MS, MOST_SYNC_MS] = [100, 60_000];

/** @param limit the schema of one limit. @param number the schema of one number of a plan. */
const schemasOf = (limit: ReturnType<typeof limitOf>, number: typeof units | typeof dollars, unit?: MeterUnit) => {
  const isMetered = unit !== undefined;
  /** Numbers by plan and by the id of a limit. policy-fields.ts checks the names and what fits a limit. */
  const plans = tableOf(tableOf(number));
  const policy = v.strictObject({
    name: policyName,
    match: v.optional(v.strictObject(match), {}),
    except: v.optional(oneOrMore(exception)),
    exempt: v.optional(oneOrMore(addressRange, MAX_EXEMPT)),
    key: v.optional(oneOrMore(keyKind), ["ip"]),
    cost: v.optional(v.pipe(v.array(rule), v.maxLength(isMetered ? 0 : Number.POSITIVE_INFINITY)), []),
    limits: v.pipe(v.array(limit), v.minLength(1), v.maxLength(MAX_LIMITS)),
    plan: v.optional(planSource),
    plans: v.optional(plans),
    consistency: v.optional(v.picklist(isMetered ? ["strict"] : ["strict", "leased", "shared"]), "strict"),
    sync: v.optional(duration(LEAST_SYNC_MS, MOST_SYNC_MS)),
    mode: v.optional(v.picklist(["enforce", "shadow"]), "enforce"),
    onStoreFailure: v.optional(v.picklist(["local", "allow", "deny"]), "local"),
    documented: v.optional(boolean, true),
    meter: v.optional(METERS[unit ?? "tokens"]),
    count: v.optional(v.picklist(isMetered ? ["all"] : ["all", "failures", "successes"]), "all"),
    once: v.optional(onceSource),
    onceFor: v.optional(duration(ONCE_MS_RANGE.min, ONCE_MS_RANGE.max), "1m"),
    repeats: v.optional(integer(1, MAX_REPEATS), 2),
    refusal: v.optional(refusal),
    // policy-chains.ts checks the policies of a chain together.
    overflow: v.optional(policyName),
  });
  return { policy: policy satisfies v.GenericSchema<PolicyInput, unknown>, limit, number };
};

/** By the unit of a policy's meter. */
export const SCHEMAS = {
  none: schemasOf(limitOf(LIMIT_SCHEMAS.none), units),
  tokens: schemasOf(limitOf(LIMIT_SCHEMAS.tokens), units, "tokens"),
  usd: schemasOf(limitOf(LIMIT_SCHEMAS.usd), dollars, "usd"),
};

/** What the limits of a policy count: `none` without a meter. */
export type Unit = keyof typeof SCHEMAS;

/** The unit of a policy as it was written; a wrong one counts as tokens, or with prices as dollars. */
export function unitOf(policy: unknown): Unit {
  const { meter } = (policy ?? {}) as { meter?: { unit?: unknown; prices?: unknown } | null };
  if (meter === undefined) return "none";
  const { unit, prices } = meter ?? {};
  return unit === "usd" || (unit !== "tokens" && prices !== undefined) ? "usd" : "tokens";
}

/** The fields of a table in a policy, by name. @param table absent: the policy itself. */
function entriesOf(
  table: string | undefined,
  unit: Unit,
  algorithm: AlgorithmName = DEFAULT_ALGORITHM,
): v.ObjectEntries {
  const tables: Readonly<Record<string, v.ObjectEntries>> = {
    match,
    except: match,
    cost: rule.entries,
    meter: METERS.usd.entries,
    refusal: refusal.entries,
    prices: price.entries,
    limits: LIMIT_SCHEMAS.none[algorithm].entries,
  };
  return table === undefined ? SCHEMAS[unit].policy.entries : (tables[table] ?? {});
}

/** The names of the fields that a table in a policy may have. @param table absent: the policy itself. */
export function fieldsOf(table: string | undefined, algorithm?: AlgorithmName): string[] {
  return Object.keys(entriesOf(table, "none", algorithm));
}

/**
 * The words that a field may have, from its own entry. Undefined: it may have other values, too.
 *
 * @param table as for `fieldsOf`. @param unit as `unitOf` says it.
 */
export function wordsOf(
  table: string | undefined,
  name: string,
  unit: Unit,
  algorithm?: AlgorithmName,
): readonly string[] | undefined {
  if (name === "algorithm") return Object.keys(LIMIT_SCHEMAS[unit]);
  let entry = entriesOf(table, unit, algorithm)[name] as Entry | undefined;
  while (entry?.wrapped) entry = entry.wrapped;
  return entry?.options;
}

/** What is read of the schema of a field: an optional one wraps another, and a list of words has options. */
interface Entry {
  readonly wrapped?: Entry;
  readonly options?: readonly string[];
}

const LIMIT_FIELDS = NAMES.flatMap((algorithm) =>
  Object.entries<Field>(NAMED[algorithm].fields).map(([name, field]) => [algorithm, name, field] as const),
);

/** What is expected of each field of a limit. An algorithm that expects another value than the first has its own. */
function expectedOfLimits(): Record<string, string> {
  const expected: Record<string, string> = {};
  for (const [algorithm, name, field] of LIMIT_FIELDS) {
    const words = field.is === "word" ? field.words.map((word) => `"${word}"`).join(" or ") : field.expected;
    expected[name] ??= words;
    if (expected[name] !== words) expected[`${name} of ${algorithm}`] = words;
  }
  return expected;
}

/** The number of a limit, in words. */
export const UNITS_EXPECTED = `an integer from 1 to ${MAX_UNITS}`;

const COST_EXPECTED = `an integer from 0 to ${MAX_UNITS}`;
const PRICES_EXAMPLE = "for example prices = { default = { input = 15, output = 75 } }";

/** What replaces a limit of 0. */
export const BLOCK_INSTEAD = ' ("block" in the live document refuses every request of a client)';

/**
 * What a value was probably meant to be: a number without its unit, a value for the same field of another algorithm, a
 * range of addresses that begins elsewhere, or a limit that lets nobody pass. Undefined: the value says nothing of the
 * kind.
 *
 * @param expected of the field. @param unit as `unitOf` says it. @param algorithm of the limit, as it was written.
 */
export function meantBy(
  field: string,
  value: unknown,
  expected: string,
  unit: Unit,
  algorithm: string = DEFAULT_ALGORITHM,
): string | undefined {
  const namesakes = LIMIT_FIELDS.filter(([, name, { is }]) => name === field && is !== "units");
  const [, , own] = namesakes.find(([of]) => of === algorithm) ?? [];
  const bare = own?.is === "duration" ? bareExpected(value, own.leastMs, own.mostMs) : undefined;
  if (bare !== undefined) return bare;
  if (field === "sync") return bareExpected(value, LEAST_SYNC_MS, MOST_SYNC_MS);
  if (field === "onceFor") return bareExpected(value, ONCE_MS_RANGE.min, ONCE_MS_RANGE.max);
  const takers = namesakes.filter(([of, , one]) => {
    const isBeside = unit === "none" || NAMED[of].meters?.includes(unit);
    return isBeside && own && one.is !== own.is && v.is(schemaOf(one, undefined), value);
  });
  if (value !== undefined && takers.length > 0) {
    return `${expected}; or ${takers.map(([of]) => `algorithm = "${of}"`).join(" or ")}`;
  }
  if (field === "exempt" && typeof value === "string") return rangeExpected(value);
  return field === "limit" && (value === 0 || value === "0") ? `${expected}${BLOCK_INSTEAD}` : undefined;
}

/**
 * The expected value of each field, by its name. Fields of the same name have the same value, unless they are here with
 * the name of their table. Not here: fields with a few possible words, which the schema names.
 */
export const EXPECTED: Readonly<Record<string, string>> = {
  type: "a table with name, key and limits",
  name: "1 to 32 of a-z, 0-9 and -, not beginning with -",
  match: "a table with method, path, host, rpc or tool",
  except: 'a table with method, path, host, rpc or tool, or a list of them, for example { path = "/health" }',
  exempt: `a list of 1 to ${MAX_EXEMPT} ranges of addresses, for example ["10.0.0.0/8"]`,
  method: 'a method or a list of them, for example "POST"',
  ...PATTERN_EXPECTED,
  rpc: 'a method of JSON-RPC or a list of them, for example "resources/*"; * stands for any text',
  tool: 'the name of a tool or a list of them, for example "delete*"; * stands for any text',
  key: `a list of ${keyForms(() => "<name>").join(", ")}, or several joined by +`,
  cost: 'a list of rules, for example { path = "/v1/search", cost = 100 }',
  "cost.cost": COST_EXPECTED,
  "cost of meter": "no cost beside meter, which says what a request costs",
  limits: `a list of 1 to ${MAX_LIMITS} limits`,
  ...expectedOfLimits(),
  plan: `one of ${planForms(() => "<name>").join(", ")}`,
  plans: "numbers by plan and limit, for example { pro = { api-1 = 100 } }",
  planNumber: UNITS_EXPECTED,
  sync: 'a duration from 100ms to 60s, for example "1s"',
  "consistency of meter": '"strict" beside meter',
  documented: "true or false",
  "count of meter": '"all" beside meter, which charges what was used',
  once: `one of ${onceForms(() => "<name>").join(", ")}`,
  onceFor: 'a duration from 1s to 1h, for example "60s"',
  repeats: `an integer from 1 to ${MAX_REPEATS}`,
  refusal: "a table with status or body, for example { status = 403, body = '{\"seconds\":{retryAfter}}' }",
  "refusal.status": "402, 403, 420 to 429 or 503",
  "refusal.type": 'a media type, for example "application/json"',
  "refusal.code": "an integer of 32 bits outside of -32768 to -32000, which JSON-RPC has for itself",
  "refusal.body": `a text of 1 to ${LONGEST_BODY} characters`,
  overflow: 'the name of a policy: write overflow = "team"',
  unit: '"tokens" or "usd"',
  meter: 'a table with unit = "tokens" or unit = "usd"',
  maxOutput: UNITS_EXPECTED,
  perImage: COST_EXPECTED,
  prices: `a table of prices by model, ${PRICES_EXAMPLE}`,
  "prices of tokens": 'no prices beside unit = "tokens"',
  defaultPrice: `prices for all other models, ${PRICES_EXAMPLE}`,
  modelPrice: "a table with input and output",
  dollarsPerMillion: "dollars per million tokens, 0 or more",
};
