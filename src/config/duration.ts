/** Durations as people write them: `"250ms" "10s" "1m" "1h" "1d"`. A number alone could be meant in two ways. */

import { UNIT_MS } from "../core/duration.ts";

export { type Duration, formatDuration } from "../core/duration.ts";

export const DURATION = /^(\d{1,12})(ms|s|m|h|d)$/;

/** Milliseconds; undefined: not a duration. 0 needs no unit. */
export function parseDurationMs(value: unknown): number | undefined {
  if (value === 0 || value === "0") return 0;
  const [, digits, unit] = (typeof value === "string" && DURATION.exec(value)) || [];
  return digits === undefined ? undefined : Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

/** What to write in place of a number without a unit: both that it could mean. Undefined: it is no such number. */
export function bareExpected(value: unknown): string | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  return /^[1-9]\d{0,11}$/.test(String(value)) ? `a number with its unit, "${value}s" or "${value}ms"` : undefined;
}
