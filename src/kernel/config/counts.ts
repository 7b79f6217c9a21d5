/** The Durable Objects that count, as wrangler.toml binds them, and how often an isolate hands its counts on. */

import type { Get, Wrong } from "./bindings.ts";
import { INTERVAL, readSetting } from "./fields/setting.ts";

/** The part of a Durable Object namespace that is used here: `env.COUNTS` of a Worker. */
export interface CountsNamespace {
  /** The id of the object of this name. No I/O. */
  idFromName(name: string): { toString(): string };
  /** A stub of the object. No I/O. */
  get(id: object, options?: { readonly locationHint?: LocationHint }): object;
}

/** Where Cloudflare can place a new object (2026-11). */
export const LOCATION_HINTS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "apac-ne",
  "apac-se",
  "oc",
  "afr",
  "me",
] as const;
/** A part of the world, as Cloudflare names it: `weur` is Western Europe. */
export type LocationHint = (typeof LOCATION_HINTS)[number];

export interface CountsSettings {
  readonly namespace: CountsNamespace;
  /** How many objects share the keys. */
  readonly shards: number;
  /** Absent: near the first request. */
  readonly location?: LocationHint;
  /** Time budget of one decision's calls. */
  readonly timeoutMs: number;
}

export interface StatsSettings {
  /** How often an isolate hands its counts on, in ms; 0: never, and nothing is counted. */
  readonly flushMs: number;
  /** The Durable Object `HeadgateStats`. */
  readonly namespace?: CountsNamespace;
}

/** A decision scores the names of all shards: 256 take some microseconds. */
export const MAX_SHARDS = 256;

export const COUNTS_SETTINGS = {
  COUNTS_LOCATION: { is: "word", words: LOCATION_HINTS, forms: LOCATION_HINTS, isOptional: true },
  COUNTS_SHARDS: { is: "integer", least: 1, most: MAX_SHARDS, default: 1 },
  STATS_FLUSH: INTERVAL,
} as const;

/**
 * Whether a value is a namespace. A service binding is not one, although it seems to have every method: it takes any
 * name for a method of another Worker.
 */
export function isCountsNamespace(value: unknown): value is CountsNamespace {
  const { idFromName, fetch } = (value ?? {}) as { idFromName?: unknown; fetch?: unknown };
  return typeof idFromName === "function" && typeof fetch !== "function";
}

export function isLocationHint(value: unknown): value is LocationHint {
  return LOCATION_HINTS.includes(value as LocationHint);
}

/** Undefined: no object is bound. */
export function readCounts(get: Get, wrong: Wrong, timeoutMs: number): CountsSettings | undefined {
  const namespace = get("COUNTS");
  const location = readSetting(COUNTS_SETTINGS, "COUNTS_LOCATION", get, wrong);
  const shards = readSetting(COUNTS_SETTINGS, "COUNTS_SHARDS", get, wrong);
  if (namespace === undefined) return undefined;
  if (!isCountsNamespace(namespace)) {
    const expected = "a Durable Object ([[durable_objects.bindings]] in wrangler.toml)";
    wrong("ERR_COUNTS", "COUNTS", expected, shown(namespace));
    return undefined;
  }
  return { namespace, shards, timeoutMs, ...(location && { location }) };
}

export function readStats(get: Get, wrong: Wrong): StatsSettings {
  const [namespace, analytics] = [get("STATS"), get("ANALYTICS")];
  if (namespace !== undefined && !isCountsNamespace(namespace)) {
    wrong("ERR_STATS", "STATS", "a Durable Object ([[durable_objects.bindings]] in wrangler.toml)", shown(namespace));
  }
  if (analytics !== undefined) {
    const expected = "no ANALYTICS: onDecision writes data points, as docs/recipes/analytics-engine.md shows";
    wrong("ERR_ANALYTICS", "ANALYTICS", expected, shown(analytics));
  }
  return {
    flushMs: readSetting(COUNTS_SETTINGS, "STATS_FLUSH", get, wrong),
    ...(isCountsNamespace(namespace) && { namespace }),
  };
}

/** Never shows the binding itself: looking at it could call another Worker. */
function shown(value: unknown): unknown {
  return typeof value === "string" ? value : "a binding of another kind";
}
