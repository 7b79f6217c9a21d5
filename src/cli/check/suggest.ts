/** What a mistake's value probably meant. */

import { ALL, FIELDS } from "../../features/configuration.ts";
import { isBareHost } from "../../kernel/config/bindings.ts";
import { LOCATION_HINTS } from "../../kernel/config/counts.ts";
import type { Field } from "../../kernel/config/fields/field.ts";
import { fieldsBy, inPolicyOf } from "../../kernel/config/fields/read.ts";
import type { Mistake, MistakeCode } from "../../kernel/config/mistake.ts";
import { REGION_KINDS } from "../../kernel/config/regions.ts";
import { type Bindings, RATE_LIMIT_HEADERS } from "../../kernel/config/settings.ts";
import { formatDuration } from "../../kernel/core/duration.ts";
import { MAX_WINDOW_MS } from "../../kernel/core/layout.ts";
import { nearest } from "../../kernel/nearest.ts";
import { formOf, KEY_SOURCES, sourceOf } from "../../kernel/request/sources.ts";

/** The right spelling, as the file should have it. Undefined: no guess. */
export function suggestionFor({ code, path }: Mistake, bindings: Bindings): string | undefined {
  const field = code.startsWith("ERR_POLICY_") ? policyField(bindings, path) : undefined;
  const name = path.slice(path.lastIndexOf(".") + 1);
  const names = NAMES[code];
  if (names && !names.includes(name)) return nearest(name, names);
  const value = valueAt(bindings, path);
  const words = field?.is === "word" ? field.words : WORDS[code];
  if (field?.is === "duration") return duration(value);
  if (typeof value !== "string" || !words) return SUGGEST[code]?.(value);
  const meant = nearest(value, words);
  // The word is right, and wrong beside another field.
  return meant === value ? undefined : quoted(meant);
}

const SUGGEST: Partial<Record<MistakeCode, (value: unknown) => string | undefined>> = {
  ERR_POLICY_KEY: key,
  ERR_POLICY_ONCE: key,
  ERR_POLICY_ZONE: zone,
  ERR_ORIGIN_URL: url,
  ERR_REDIS_URL: url,
  ERR_REDIS_NODES: url,
  ERR_IDENTITY: url,
};

/** The fields of tables outside of policies. */
const NAMES: Partial<Record<MistakeCode, readonly string[]>> = {
  ERR_REGIONS: REGION_KINDS,
};

const WORDS: Partial<Record<MistakeCode, readonly string[]>> = {
  ERR_COUNTS_LOCATION: LOCATION_HINTS,
  ERR_POLICY_COUNT: ["all", "failures", "successes"],
  ERR_RATE_LIMIT_HEADERS: RATE_LIMIT_HEADERS,
};

/** The field that a path such as `POLICIES[1].limits[0].window` names. */
function policyField(bindings: Bindings, path: string): Field | undefined {
  const [policyPath = ""] = path.split(".", 1);
  const policy = valueAt(bindings, policyPath);
  const unit = ALL.unitOf(policy);
  let [field, value]: [Field | undefined, unknown] = [{ is: "table", fields: FIELDS }, policy];
  for (const step of stepsOf(path.slice(policyPath.length))) {
    if (field?.asTable && !/^\d+$/.test(step)) field = field.asTable;
    if (field?.is === "oneOrMore" && !/^\d+$/.test(step)) field = field.of;
    if (field?.is === "table") {
      field = field.fields[step];
    } else if (field?.is === "byAlgorithm") {
      const { tables } = field;
      const fields = fieldsBy(tables, value as { readonly algorithm?: unknown });
      field = step === "algorithm" ? { is: "word", words: Object.keys(tables) } : fields?.[step];
    } else {
      field = field && "of" in field ? field.of : undefined;
    }
    field &&= inPolicyOf(unit, field);
    value = (value as Readonly<Record<string, unknown>> | undefined)?.[step];
  }
  return field;
}

function zone(value: unknown): string | undefined {
  return typeof value === "string" ? quoted(nearest(value, Intl.supportedValuesOf("timeZone"))) : undefined;
}

function url(value: unknown): string | undefined {
  if (typeof value !== "string" || !isBareHost(value)) return undefined;
  return quoted(`${value.startsWith("localhost") ? "http" : "https"}://${value}`);
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
  // No network of IPv6 is so large.
  if (/^ip\/[12]?\d$/i.test(part)) return "ip4/24";
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
  const [first = "", ...rest] = stepsOf(path);
  const variable = bindings[first];
  let value: unknown = rest.length > 0 && typeof variable === "string" ? JSON.parse(variable) : variable;
  for (const step of rest) value = (value as Record<string, unknown> | undefined)?.[step!];
  return value;
}

/** `POLICIES`, `1`, `limits`, `0` and `window` of `POLICIES[1].limits[0].window`. */
function stepsOf(path: string): string[] {
  return path.split(/\.|\[(\d+)\]/).filter((step) => step !== undefined && step !== "");
}
