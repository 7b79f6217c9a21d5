/** Instants as logs write them, in ms since the epoch. */

/** No log is older than HTTP. A later instant is a wrong one, and many functions fail beyond the year 275760. */
const [EARLIEST_MS, LATEST_MS] = [Date.UTC(1990), Date.UTC(2100)];

/** NaN: not an instant that a log can have. */
export function instantInMs(ms: number): number {
  return ms >= EARLIEST_MS && ms < LATEST_MS ? ms : Number.NaN;
}

/** RFC 3339, or a number of seconds, milliseconds, microseconds or nanoseconds since the epoch. NaN: not an instant. */
export function instantOf(value: unknown): number {
  if (typeof value === "number") return instantInMs(numberedInstant(value));
  if (typeof value !== "string") return Number.NaN;
  if (DIGITS.test(value)) return instantInMs(numberedInstant(Number(value)));
  return RFC_3339.test(value) ? instantInMs(Date.parse(value)) : Number.NaN;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)$/i;
const DIGITS = /^\d+(?:\.\d+)?$/;

/**
 * The units are told apart by size: 1e11 seconds are the year 5138, 1e11 ms are 1973. Nanoseconds are beyond 2^53 and
 * arrive rounded by up to 128 ns: the addition keeps a whole millisecond from becoming the one before it.
 */
function numberedInstant(value: number): number {
  if (value < 1e11) return Math.round(value * 1000);
  if (value < 1e14) return Math.floor(value);
  if (value < 1e17) return Math.floor(value / 1e3);
  return Math.floor(value / 1e6 + 0.0005);
}

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

/** `10/Oct/2000:13:55:36 -0700`, 26 characters, the time of the common log format. NaN: not an instant. */
export function commonInstant(text: string): number {
  const month = MONTHS.indexOf(text.slice(3, 6));
  if (text.length !== 26 || month < 0 || month % 3 !== 0 || !COMMON.test(text)) return Number.NaN;
  const number = (from: number, to: number) => Number(text.slice(from, to));
  const zoneMin = number(22, 24) * 60 + number(24, 26);
  const utcMs = Date.UTC(number(7, 11), month / 3, number(0, 2), number(12, 14), number(15, 17), number(18, 20));
  return instantInMs(utcMs - (text[21] === "-" ? -zoneMin : zoneMin) * 60_000);
}

const COMMON = /^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}$/;
