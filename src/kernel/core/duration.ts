/**
 * Durations as people write and read them: `"250ms" "10s" "1m" "1h" "1d"`. A number alone could be meant in two ways.
 */

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** An integer with its unit: `"250ms"`, `"10s"`, `"1m"`, `"1h"` or `"1d"`. */
export type Duration = `${number}${keyof typeof UNIT_MS}`;

/** The shortest exact way to write a duration, for example `1h` for 3600000. */
export function formatDuration(durationMs: number): Duration {
  for (const unit of ["d", "h", "m", "s"] as const) {
    if (durationMs > 0 && durationMs % UNIT_MS[unit] === 0) return `${durationMs / UNIT_MS[unit]}${unit}`;
  }
  return `${durationMs}ms`;
}

const NAMES = { d: "day", h: "hour", m: "minute", s: "second", ms: "millisecond" } as const;

/** In a sentence: `1 minute`, `15 minutes`. @param one what stands before a single unit. */
export function sayDuration(durationMs: number, one = "1 "): string {
  const [, count, unit] = DURATION.exec(formatDuration(durationMs))!;
  const name = NAMES[unit as keyof typeof NAMES];
  return count === "1" ? `${one}${name}` : `${count} ${name}s`;
}

export const DURATION = /^(\d{1,12})(ms|s|m|h|d)$/;

/** Milliseconds; undefined: not a duration. 0 needs no unit. */
export function parseDurationMs(value: unknown): number | undefined {
  if (value === 0 || value === "0") return 0;
  const [, digits, unit] = (typeof value === "string" && DURATION.exec(value)) || [];
  return digits === undefined ? undefined : Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

/**
 * What to write in place of a number without a unit: all that it could mean and that would be right. Undefined: it is
 * no such number, or is wrong in each unit.
 */
export function bareExpected(value: unknown, minMs: number, maxMs: number): string | undefined {
  if ((typeof value !== "number" && typeof value !== "string") || !/^[1-9]\d{0,11}$/.test(String(value)))
    return undefined;
  const meant = (["s", "ms"] as const).filter((unit) => {
    const durationMs = Number(value) * UNIT_MS[unit];
    return durationMs >= minMs && durationMs <= maxMs;
  });
  return meant.length > 0
    ? `a number with its unit, ${meant.map((unit) => `"${value}${unit}"`).join(" or ")}`
    : undefined;
}
