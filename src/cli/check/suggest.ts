/** What a mistake's value probably meant. */

import { isBareHost } from "../../config/bindings.ts";
import type { Mistake, MistakeCode } from "../../config/mistake.ts";
import type { Bindings } from "../../config/settings.ts";
import { formatDuration } from "../../core/duration.ts";
import { MAX_WINDOW_MS } from "../../core/layout.ts";
import { formOf, KEY_SOURCES, sourceOf } from "../../keys/sources.ts";
import { nearest } from "../../nearest.ts";

/** The right spelling, as the file should have it. Undefined: no guess. */
export function suggestionFor(mistake: Mistake, bindings: Bindings): string | undefined {
  const suggest = SUGGEST[mistake.code];
  return suggest?.(valueAt(bindings, mistake.path), mistake);
}

type Suggest = (value: unknown, mistake: Mistake) => string | undefined;

const SUGGEST: Partial<Record<MistakeCode, Suggest>> = {
  ERR_POLICIES_VARIABLE: (_, { path }) => policiesVariable(path),
  ERR_POLICY_FIELD: field,
  ERR_POLICY_NAME: (value) => (typeof value === "string" ? quoted(policyName(value)) : undefined),
  ERR_POLICY_KEY: key,
  ERR_POLICY_ONCE: key,
  ERR_POLICY_ONCE_FOR: duration,
  ERR_POLICY_ALGORITHM: word,
  ERR_POLICY_WINDOW: (value, mistake) => (/^a /.test(mistake.expected) ? duration(value) : word(value, mistake)),
  ERR_POLICY_ZONE: zone,
  ERR_POLICY_WEEK_START: word,
  ERR_POLICY_TIMEOUT: duration,
  ERR_POLICY_MAX_DELAY: duration,
  ERR_POLICY_OLDEST: word,
  ERR_POLICY_SCOPE: word,
  ERR_POLICY_CONSISTENCY: word,
  ERR_POLICY_SYNC: duration,
  ERR_POLICY_MODE: word,
  ERR_POLICY_ON_STORE_FAILURE: word,
  ERR_ORIGIN_URL: url,
  ERR_REDIS_URL: url,
  ERR_REDIS_NODES: (value, mistake) => url(value) ?? field(value, mistake),
  ERR_COUNTS_LOCATION: word,
  ERR_REGIONS: field,
  ERR_IDENTITY: (value, mistake) => url(value) ?? field(value, mistake),
  ERR_RATE_LIMIT_HEADERS: word,
};

/** The words that `expected` names: those in quotes, or those in a list. */
function wordsIn(expected: string): string[] {
  const inQuotes = [...expected.matchAll(/"([^"]+)"/g)].map(([, text]) => text!);
  return inQuotes.length > 0 ? inQuotes : expected.replace(/^.*(?:fields|one of) /, "").split(/, | or /);
}

function word(value: unknown, { expected }: Mistake): string | undefined {
  return typeof value === "string" ? quoted(nearest(value, wordsIn(expected))) : undefined;
}

function zone(value: unknown): string | undefined {
  return typeof value === "string" ? quoted(nearest(value, Intl.supportedValuesOf("timeZone"))) : undefined;
}

/** The name of a field is the end of its path. */
function field(_value: unknown, { path, expected }: Mistake): string | undefined {
  if (!/fields|^colo/.test(expected)) return undefined;
  return nearest(path.slice(path.lastIndexOf(".") + 1), wordsIn(expected));
}

function url(value: unknown): string | undefined {
  if (typeof value !== "string" || !isBareHost(value)) return undefined;
  return quoted(`${value.startsWith("localhost") ? "http" : "https"}://${value}`);
}

function policiesVariable(name: string): string {
  const number = Number(/\d+$/.exec(name)?.[0] ?? 1);
  return number < 2 ? "POLICIES" : `POLICIES_${number}`;
}

function policyName(value: string): string | undefined {
  const name = value
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return /^[a-z0-9-]{1,32}$/.test(name) ? name : undefined;
}

const UNITS_MS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|msecs?|millis|milliseconds?)$/, 1],
  [/^(?:s|secs?|seconds?)$/, 1_000],
  [/^(?:m|mins?|minutes?)$/, 60_000],
  [/^(?:h|hrs?|hours?)$/, 3_600_000],
  [/^(?:d|days?)$/, 86_400_000],
  [/^(?:w|wks?|weeks?)$/, 604_800_000],
];

/** `"1 min"`, `"1.5h"` and `"1 week"` as a duration is written here. */
function duration(value: unknown): string | undefined {
  const [, number, unit = ""] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)\.?\s*$/i.exec(String(value)) ?? [];
  const [, unitMs] = UNITS_MS.find(([pattern]) => pattern.test(unit.toLowerCase())) ?? [];
  if (number === undefined || unitMs === undefined) return undefined;
  const durationMs = Number(number) * unitMs;
  const isPossible = Number.isInteger(durationMs) && durationMs >= 1 && durationMs <= MAX_WINDOW_MS;
  return isPossible ? quoted(formatDuration(durationMs)) : undefined;
}

function key(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const parts = value.split("+").map((part) => (isKeyPart(part) ? part : meantPart(part.trim())));
  return parts.includes(undefined) ? undefined : quoted(parts.join("+"));
}

/** Undefined: no guess. `header-x-user` is the header `x-user`, and a name like `X-User` can only be a header. */
function meantPart(part: string): string | undefined {
  if (/^authorization$/i.test(part)) return "bearer";
  const sources = Object.keys(KEY_SOURCES);
  const [, head = part, name = ""] = /^([a-z]+)\s*[:=_. -]+\s*(.+)$/i.exec(part) ?? [];
  const source = nearest(head, sources);
  const withName = [source, name].filter(Boolean).join(":");
  if (source !== undefined && isKeyPart(withName)) return withName;
  if (/^x-/i.test(part)) return `header:${part.toLowerCase()}`;
  return nearest(part, sources.filter(isKeyPart));
}

function isKeyPart(part: string): boolean {
  if (!Object.hasOwn(KEY_SOURCES, sourceOf(part))) return false;
  const { name } = formOf(part);
  return name === undefined ? part === sourceOf(part) : new RegExp(`^[a-z]+:${name}$`).test(part);
}

function quoted(text: string | undefined): string | undefined {
  return text === undefined ? undefined : JSON.stringify(text);
}

/** The value at a path such as `POLICIES[1].limits[0].window`. A variable may be JSON in a text. */
function valueAt(bindings: Bindings, path: string): unknown {
  const [first = "", ...rest] = path.split(/\.|\[(\d+)\]/).filter((step) => step !== undefined && step !== "");
  const variable = bindings[first];
  let value: unknown = rest.length > 0 && typeof variable === "string" ? JSON.parse(variable) : variable;
  for (const step of rest) value = (value as Record<string, unknown> | undefined)?.[step!];
  return value;
}
