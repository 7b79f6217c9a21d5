/** Mistakes in a configuration, as data: each with its path, what was expected, what was found, and a code. */

import { describeType } from "../check-options.ts";
import type { LimitInput, PolicyInput } from "./policy-input.ts";

/** The codes that do not follow from the name of a field of a policy or of a limit. */
export const OTHER_CODES = [
  "ERR_POLICIES_MISSING",
  "ERR_POLICIES_JSON",
  "ERR_POLICIES_SIZE",
  "ERR_POLICIES_VARIABLE",
  "ERR_POLICY_TYPE",
  "ERR_POLICY_FIELD",
  "ERR_FEATURE_MISSING",
  "ERR_POLICY_NAME_TAKEN",
  "ERR_POLICY_COST_NEVER",
  "ERR_POLICY_LIMIT_TWICE",
  "ERR_POLICY_LIMIT_ID_TAKEN",
  "ERR_POLICY_RANGE",
  "ERR_POLICY_PLAN_LIMIT",
  "ERR_POLICY_PLAN_NUMBER",
  "ERR_POLICY_PRICES",
  "ERR_POLICY_WEIGHTS",
  "ERR_REDIS_URL",
  "ERR_REDIS_TOKEN",
  "ERR_REDIS_TIMEOUT_MS",
  "ERR_REDIS_NODES",
  "ERR_COUNTS",
  "ERR_COUNTS_LOCATION",
  "ERR_COUNTS_SHARDS",
  "ERR_ORIGIN_URL",
  "ERR_ORIGIN_TWICE",
  "ERR_ORIGIN_TIMEOUT_MS",
  "ERR_REGION",
  "ERR_REGIONS",
  "ERR_KEY_SECRET",
  "ERR_NAMESPACE",
  "ERR_DEPLOYMENT",
  "ERR_IPV6_PREFIX",
  "ERR_RATE_LIMIT_HEADERS",
  "ERR_RATE_LIMIT_HEADERS_ON_CACHEABLE",
  "ERR_IDENTITY",
  "ERR_IDENTITY_MISSING",
  "ERR_CLIENT_IP",
  "ERR_ADMIN_TOKEN",
  "ERR_TAKE_TOKEN",
  "ERR_ACCESS_TEAM",
  "ERR_ACCESS_AUD",
  "ERR_LIVE_REFRESH",
  "ERR_EXPLAIN",
  "ERR_RECORD",
  "ERR_LOG_TOKENS",
  "ERR_LIMITS_TITLE",
  "ERR_LIMITS_CONTACT",
  "ERR_LIMITS_BEFORE",
  "ERR_LIMITS_AFTER",
  "ERR_ASSETS",
  "ERR_STATS",
  "ERR_ANALYTICS",
  "ERR_STATS_FLUSH",
  "ERR_ALERT_URL",
  "ERR_ALERT_SECRET",
] as const;

type KeysOfEach<T> = T extends unknown ? keyof T : never;
/** `_MAX_DELAY` for `maxDelay`. */
type Shout<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Uppercase<Letter> ? "_" : ""}${Uppercase<Letter>}${Shout<Rest>}`
  : "";
/** Of a wrong field: `codeOf` makes them. */
export type FieldCode = `ERR_POLICY_${Shout<keyof PolicyInput | KeysOfEach<LimitInput>>}`;

/** `ERR_…`: docs/errors.md has a section for each code. */
export type MistakeCode = FieldCode | (typeof OTHER_CODES)[number];

/** The right value of a pattern, in words. */
export const PATTERN_EXPECTED = {
  path: 'a path or a list of them, for example "/v1/*"',
  host: 'a host name or a list of them, for example "api.example.com"',
} as const;

/** One mistake in a configuration. */
export interface Mistake {
  /** The kind of mistake: docs/errors.md has a section for each code. */
  readonly code: MistakeCode;
  /** Where it is, for example `POLICIES[1].limits[0].window`. */
  readonly path: string;
  /** The right value in words: the text after "expected". */
  readonly expected: string;
  /** The value that was found, shortened. Secrets are never shown. */
  readonly found: string;
}

/** What was read, or all mistakes in it. */
export type Parsed<T> =
  | { readonly value: T; readonly mistakes?: never }
  | { readonly value?: never; readonly mistakes: readonly Mistake[] };

/** Thrown by functions that get a configuration with mistakes. */
export class ConfigurationError extends Error {
  /** All mistakes, in the order of the configuration. */
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    super(
      `${mistakes.length === 1 ? "1 mistake" : `${mistakes.length} mistakes`} in the configuration:\n${mistakes.map(describeMistake).join("\n")}`,
    );
    this.name = "ConfigurationError";
    this.mistakes = mistakes;
  }
}

/** The code's section stands in the package's own pages. */
export function describeMistake({ code, path, expected, found }: Mistake): string {
  return `${path}: expected ${expected}; found ${found} (${code}, docs/errors.md#${code.toLowerCase()})`;
}

/** A mistake about a value, which is described as messages show it. */
export function mistakeAbout(code: MistakeCode, path: string, expected: string, found: unknown): Mistake {
  return { code, path, expected, found: describeValue(found) };
}

const MAX_FOUND_LENGTH = 80;

/** A value as a message shows it. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  // JSON has no infinity.
  if (typeof value === "number") return String(value);
  if (typeof value === "function") return "a function";
  const text = asJson(value) ?? describeType(value);
  return text.length > MAX_FOUND_LENGTH ? `${text.slice(0, MAX_FOUND_LENGTH)}…` : text;
}

/** Undefined: JSON has no such value, for example one that contains itself, or `10n`. */
function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
