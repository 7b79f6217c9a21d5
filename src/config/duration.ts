/** Durations as people write them: `"250ms" "10s" "1m" "1h" "1d"`, or milliseconds as a number. */

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds; undefined: not a duration. A string of digits is a number that arrived as text. */
export function parseDurationMs(value: string | number): number | undefined {
  if (typeof value === "number") return value;
  const [, digits, unit = "ms"] = /^(\d{1,12})(ms|s|m|h|d)?$/.exec(value) ?? [];
  return digits === undefined ? undefined : Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

/** The shortest exact way to write a duration, for example `1h` for 3600000. */
export function formatDuration(durationMs: number): string {
  for (const unit of ["d", "h", "m", "s"] as const) {
    if (durationMs > 0 && durationMs % UNIT_MS[unit] === 0) return `${durationMs / UNIT_MS[unit]}${unit}`;
  }
  return `${durationMs}ms`;
}
