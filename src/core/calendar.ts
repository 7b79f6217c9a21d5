/**
 * The calendar counter: one count for each day, week, month or year of a time zone. Mirror: lua/calendar.lua
 *
 * A record names the end of its period: as long as the end is ahead, the period lasts. Therefore a clock that has
 * stepped back finds the newer period, and nothing has to know how long a period is.
 */

import { type Algorithm, limitStatus } from "./algorithm.ts";
import { Kind, MAX_COUNT, MAX_INSTANT_MS } from "./layout.ts";
import { LIMIT, type LimitBase, type Named, type ValuesOf } from "./named.ts";
import { type CalendarWindow, calendarIdOf, isZone, LONGEST_MS, type Period, periodAt } from "./periods.ts";
import { describeUnits } from "./units.ts";

export interface CalendarLimit {
  readonly kind: typeof Kind.calendar;
  /** Units per period, 1 … 10^9. */
  readonly limit: number;
  /** The length of a period. */
  readonly window: CalendarWindow;
  /** An IANA time zone, for example `America/Los_Angeles`. */
  readonly zone: string;
  /** The day on which a period begins: of a week 1 (Monday) … 7, of a month or of January 1 … 28. With `day`: 1. */
  readonly firstDay: number;
}

export interface CalendarRecord {
  readonly kind: typeof Kind.calendar;
  /** Which periods are counted: `calendarIdOf` of the limit, 1 … 31 days in ms. */
  readonly calendar: number;
  /** The end of the newest period written, ms since the epoch. */
  readonly endsAtMs: number;
  /** Units. */
  readonly count: number;
}

/** Days of a week are numbered from 1, Monday, on. */
const SUNDAY = 7;
/** Every month has this day. */
const LAST_FIRST_DAY = 28;
const ZONE_EXPECTED = 'an IANA time zone, for example "America/Los_Angeles"';

/** The instants that the script gets: it has no time zones. Its clock is in one of the two periods, or it says so. */
export function boundsAt(
  limit: CalendarLimit,
  nowMs: number,
): readonly [startsAtMs: number, turnsAtMs: number, endsAtMs: number] {
  const { startsAtMs, endsAtMs } = periodAt(limit, nowMs);
  return [startsAtMs, endsAtMs, periodAt(limit, endsAtMs).endsAtMs];
}

const periodOf = (limit: CalendarLimit, { endsAtMs }: CalendarRecord): Period => periodAt(limit, endsAtMs - 1);

export const calendar: Algorithm<CalendarLimit, CalendarRecord, CalendarRecord, CalendarRecord> = {
  /** If the clock has stepped back, the newer period stays. An end that no clock reaches is damage. */
  read(record, _value, limit, nowMs) {
    if (record && record.endsAtMs > nowMs && record.endsAtMs <= MAX_INSTANT_MS) return record;
    return { kind: limit.kind, calendar: calendarIdOf(limit), endsAtMs: periodAt(limit, nowMs).endsAtMs, count: 0 };
  },
  admits: ({ count }, { limit }, cost) => count + cost <= limit,
  charge(record, limit, cost, { atMs }) {
    if (atMs > 0 && record.endsAtMs !== periodAt(limit, atMs).endsAtMs) return record;
    return { ...record, count: Math.min(MAX_COUNT, record.count + cost) };
  },
  giveBack(record, limit, cost, { atMs }) {
    if (record.endsAtMs !== periodAt(limit, atMs).endsAtMs) return record;
    return { ...record, count: Math.max(0, record.count - cost) };
  },
  chargedAtMs: (record, limit) => periodOf(limit, record).startsAtMs,
  bucketAt: (limit, atMs) => periodAt(limit, atMs).endsAtMs,
  record: (record) => record,
  recordNumbers: ["calendar", "endsAtMs", "count"],
  recordEndsAtMs: ({ endsAtMs }) => endsAtMs,
  resetAfterMs: ({ endsAtMs, count }, _limit, nowMs) => (count === 0 ? 0 : endsAtMs - nowMs),
  view: (record) => record,

  encode: (of: CalendarLimit | CalendarRecord) => ["calendar" in of ? of.calendar : calendarIdOf(of), 0],
  boundsAt,
  lastOfBucket: (limit, atMs) => periodAt(limit, atMs).endsAtMs - 1,
  misfit({ window, zone, firstDay }) {
    if (!Object.hasOwn(LONGEST_MS, window)) return { field: "window", expected: "day, week, month or year" };
    if (!isZone(zone)) return { field: "zone", expected: ZONE_EXPECTED };
    const most = window === "day" ? 1 : window === "week" ? SUNDAY : LAST_FIRST_DAY;
    if (Number.isInteger(firstDay) && firstDay >= 1 && firstDay <= most) return undefined;
    return { field: "firstDay", expected: `an integer from 1 to ${most}` };
  },
  quota: ({ limit, window }) => ({ quota: limit, windowMs: LONGEST_MS[window] }),
  remaining: ({ count }, { limit }) => Math.max(0, limit - count),
  tell(record, limit, cost, refused, nowMs) {
    const { endsAtMs, count } = record;
    const endsAfterMs = endsAtMs - nowMs;
    return limitStatus({
      remaining: calendar.remaining(record, limit, nowMs),
      retryAfterMs: !refused ? 0 : cost > limit.limit ? undefined : endsAfterMs,
      growsAfterMs: count > 0 ? endsAfterMs : undefined,
      resetAfterMs: count > 0 ? endsAfterMs : 0,
      windowMs: endsAtMs - periodOf(limit, record).startsAtMs,
    });
  },

  viewLength: () => 2,
  decode: ([endsAtMs = 0, count = 0], limit) => ({ kind: limit.kind, calendar: calendarIdOf(limit), endsAtMs, count }),
  recall(record, limit, nowMs, _askedCost, cost) {
    const view = calendar.read(record, undefined, limit, nowMs);
    return { view, refused: !calendar.admits(view, limit, cost, nowMs) };
  },
  hasFixedWait: true,
  capacity: ({ limit, window }) => ({ units: limit, windowMs: LONGEST_MS[window] }),
  lease: {
    endsAtMs: (limit, chargedAtMs) => periodAt(limit, chargedAtMs).endsAtMs,
    without: (record, limit, units, chargedAtMs) =>
      calendar.giveBack(record, limit, units, { nowMs: chargedAtMs, atMs: chargedAtMs, slot: 0 }),
    inBucket: ({ count }) => count,
  },
};

/** Periods of a calendar: each starts at zero. */
export interface CalendarInput extends LimitBase {
  /** Never more than the limit in one period, up to twice the limit across its end. */
  readonly algorithm: "calendar";
  /** The length of a period. */
  readonly window: "day" | "week" | "month" | "year";
  /** An IANA time zone, for example `"America/Los_Angeles"`: periods begin at its midnight. Default `"UTC"`. */
  readonly zone?: string | undefined;
  /** With `window: "week"`: the day on which it begins. Default `"monday"`. */
  readonly weekStart?: "monday" | "sunday" | undefined;
  /** With a month or a year: the day on which it begins, an integer 1 … 28; a year begins in January. Default 1. */
  readonly monthDay?: number | string | undefined;
}

const FIELDS = {
  ...LIMIT,
  window: { is: "word", words: ["day", "week", "month", "year"] },
  zone: {
    is: "text",
    default: "UTC",
    isRight: isZone,
    expected: ZONE_EXPECTED,
  },
  weekStart: { is: "word", words: ["monday", "sunday"], isOptional: true },
  monthDay: { is: "integer", least: 1, most: LAST_FIRST_DAY, isOptional: true },
} as const;

export const namedCalendar: Named<CalendarLimit, ValuesOf<typeof FIELDS>> = {
  kind: Kind.calendar,
  fields: FIELDS,
  meters: ["tokens", "usd"],
  misfit({ window, weekStart, monthDay }) {
    if (weekStart !== undefined && window !== "week")
      return { field: "weekStart", expected: 'no weekStart, or window = "week"' };
    if (monthDay === undefined || window === "month" || window === "year") return undefined;
    return { field: "monthDay", expected: 'no monthDay, or window = "month" or "year"' };
  },
  limitOf({ limit, window, zone, weekStart, monthDay = 1 }) {
    return { kind: Kind.calendar, limit, window, zone, firstDay: weekStart === "sunday" ? SUNDAY : monthDay };
  },
  valuesOf: ({ limit, window, zone, firstDay }) => ({
    limit,
    window,
    zone,
    weekStart: window !== "week" ? undefined : firstDay === SUNDAY ? "sunday" : "monday",
    monthDay: window === "month" || window === "year" ? firstDay : undefined,
  }),
  describe: ({ limit, window, unit }) => `${describeUnits(limit, unit)} per ${window}`,
  promise(counted) {
    const { limit, window, zone, unit } = counted;
    const [most, across] = [describeUnits(limit, unit), describeUnits(2 * limit, unit)];
    return `never more than ${most} in one ${window}, up to ${across} across its end; resets at midnight${day("on", counted)}, ${zone}`;
  },
  per: (limit) => `per ${limit.window}${day("from", limit)}, ${limit.zone}`,
};

/** The day on which periods begin, after a word. Of days and, for operators, of ordinary months and years: nothing. */
function day(word: "on" | "from", { window, firstDay }: CalendarLimit): string {
  if (window === "day" || (word === "from" && window !== "week" && firstDay === 1)) return "";
  if (window === "week") return ` ${word} ${firstDay === SUNDAY ? "Sunday" : "Monday"}`;
  return ` ${word} ${window === "year" ? `January ${firstDay}` : `the ${ordinal(firstDay)}`}`;
}

/** `15th`. @param day 1 … 28. */
function ordinal(day: number): string {
  const unit = day > 10 && day < 20 ? 0 : day % 10;
  return `${day}${["th", "st", "nd", "rd"][unit] ?? "th"}`;
}
