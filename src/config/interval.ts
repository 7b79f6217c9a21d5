/** The variables that say how often an isolate does something in the background. */

import type { Get, Wrong } from "./bindings.ts";
import { bareExpected, formatDuration, parseDurationMs } from "./duration.ts";

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
