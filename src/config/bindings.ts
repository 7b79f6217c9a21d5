/** Reads one binding at a time, and notes what is wrong with it. */

import { bareExpected, formatDuration, parseDurationMs } from "../core/duration.ts";
import { describeValue, type Mistake, type MistakeCode } from "./mistake.ts";

/** The Worker's bindings as they arrive. They may contain anything. */
export type Bindings = Readonly<Record<string, unknown>>;

export type Get = (name: string) => unknown;

export type Wrong = (code: MistakeCode, path: string, expected: string, found: unknown) => void;

export function reading(bindings: Bindings): {
  readonly get: Get;
  readonly wrong: Wrong;
  readonly mistakes: Mistake[];
} {
  const mistakes: Mistake[] = [];
  return {
    mistakes,
    // `--var NAME:` and an emptied secret arrive as "".
    get: (name) => (bindings[name] === "" || bindings[name] === null ? undefined : bindings[name]),
    wrong: (code, path, expected, found) => void mistakes.push({ code, path, expected, found: describeValue(found) }),
  };
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined: the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isHttpUrl(value: unknown): value is string {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

/** The part of a wrong URL that messages show. The rest may be a password, or a token pasted in the wrong place. */
export function schemeOf(url: unknown): unknown {
  if (typeof url !== "string") return url;
  if (isBareHost(url)) return `${url}, without http:// or https://`;
  const [scheme] = /^[a-z]{2,8}:(?=\/\/)/i.exec(url) ?? [];
  return scheme ? `${scheme}…` : "a value that is not shown";
}

/** A host name whose scheme was forgotten. In lower case: no token looks like that. */
export function isBareHost(text: string): boolean {
  return /^(?:localhost|(?:[a-z0-9-]{1,63}\.)+[a-z]{2,24})(?::\d{1,5})?\/?$/.test(text);
}

interface Range {
  readonly min: number;
  readonly max: number;
  readonly fallback: number;
  /** What the integer counts, in the plural. Absent: nothing. */
  readonly unit?: string;
}

/** A variable, or an option of a program, that is an integer, as a number or as text. */
export function readInteger(
  name: string,
  code: MistakeCode,
  { min, max, fallback, unit }: Range,
  get: Get,
  wrong: Wrong,
): number {
  const value = get(name) ?? fallback;
  const integer = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof integer === "number" && Number.isSafeInteger(integer) && integer >= min && integer <= max) return integer;
  wrong(code, name, `an integer ${unit ? `of ${unit} ` : ""}from ${min} to ${max}`, value);
  return fallback;
}

/** Once a second is about 2.6 million calls a month for one isolate. Nobody would wait longer than an hour. */
const INTERVAL_MS = { min: 1_000, max: 3_600_000 };
const DEFAULT_INTERVAL = "30s";

/** An interval in ms; 0: never. */
export function readInterval(name: "LIVE_REFRESH" | "STATS_FLUSH", get: Get, wrong: Wrong): number {
  const value = get(name) ?? DEFAULT_INTERVAL;
  const intervalMs = parseDurationMs(value);
  const { min, max } = INTERVAL_MS;
  if (intervalMs === 0) return 0;
  if (intervalMs !== undefined && intervalMs >= min && intervalMs <= max) return intervalMs;
  const expected =
    bareExpected(value, min, max) ?? `a duration from ${formatDuration(min)} to ${formatDuration(max)}, or 0s: never`;
  wrong(`ERR_${name}`, name, expected, value);
  return 0;
}
