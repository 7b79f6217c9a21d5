/** The bindings that say where an isolate hands its counts on, and how often. */

import { type Get, readInterval, type Wrong } from "./bindings.ts";
import { type CountsNamespace, isCountsNamespace } from "./counts.ts";

export interface StatsSettings {
  /** How often an isolate hands its counts on, in ms; 0: never, and nothing is counted. */
  readonly flushMs: number;
  /** The Durable Object `HeadgateStats`. */
  readonly namespace?: CountsNamespace;
  readonly analytics?: Analytics;
}

/** The part of an Analytics Engine dataset that is used here. */
export interface Analytics {
  writeDataPoint(point: DataPoint): void;
}

export interface DataPoint {
  readonly blobs: string[];
  readonly doubles: number[];
  readonly indexes: string[];
}

export function readStats(get: Get, wrong: Wrong): StatsSettings {
  const [namespace, analytics] = [get("STATS"), get("ANALYTICS")];
  if (namespace !== undefined && !isCountsNamespace(namespace)) {
    wrong("ERR_STATS", "STATS", "a Durable Object ([[durable_objects.bindings]] in wrangler.toml)", shown(namespace));
  }
  if (analytics !== undefined && !isAnalytics(analytics)) {
    wrong("ERR_ANALYTICS", "ANALYTICS", "a dataset ([[analytics_engine_datasets]] in wrangler.toml)", shown(analytics));
  }
  return {
    flushMs: readInterval("STATS_FLUSH", get, wrong),
    ...(isCountsNamespace(namespace) && { namespace }),
    ...(isAnalytics(analytics) && { analytics }),
  };
}

/** Whether a value is a dataset. A service binding is not one, although it seems to have every method. */
function isAnalytics(value: unknown): value is Analytics {
  const { writeDataPoint, fetch } = (value ?? {}) as { writeDataPoint?: unknown; fetch?: unknown };
  return typeof writeDataPoint === "function" && typeof fetch !== "function";
}

/** Never shows the binding itself: looking at it could call another Worker. */
function shown(value: unknown): unknown {
  return typeof value === "string" ? value : "a binding of another kind";
}
