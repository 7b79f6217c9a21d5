/** The bindings that say where an isolate hands its counts on, and how often. */

import { type Get, readInterval, type Wrong } from "./bindings.ts";
import { type CountsNamespace, isCountsNamespace } from "./counts.ts";

export interface StatsSettings {
  /** How often an isolate hands its counts on, in ms; 0: never, and nothing is counted. */
  readonly flushMs: number;
  /** The Durable Object `HeadgateStats`. */
  readonly namespace?: CountsNamespace;
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
    flushMs: readInterval("STATS_FLUSH", get, wrong),
    ...(isCountsNamespace(namespace) && { namespace }),
  };
}

/** Never shows the binding itself: looking at it could call another Worker. */
function shown(value: unknown): unknown {
  return typeof value === "string" ? value : "a binding of another kind";
}
