/** Durations as people write and read them: `"250ms" "10s" "1m" "1h" "1d"`. */

export const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** An integer with its unit: `"250ms"`, `"10s"`, `"1m"`, `"1h"` or `"1d"`. */
export type Duration = `${number}${keyof typeof UNIT_MS}`;

/** The shortest exact way to write a duration, for example `1h` for 3600000. */
export function formatDuration(durationMs: number): Duration {
  for (const unit of ["d", "h", "m", "s"] as const) {
    if (durationMs > 0 && durationMs % UNIT_MS[unit] === 0) return `${durationMs / UNIT_MS[unit]}${unit}`;
  }
  return `${durationMs}ms`;
}
