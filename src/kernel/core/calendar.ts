/**
 * The calendar counter: one count for each day, week, month or year of a time zone. Mirror: lua/calendar.lua
 *
 * A record names the end of its period: as long as the end is ahead, the period lasts. Therefore a clock that has
 * stepped back finds the newer period, and nothing has to know how long a period is.
 */

import { counter } from "./algorithm.ts";
import { Kind, MAX_INSTANT_MS } from "./layout.ts";
import { LIMIT, type LimitBase, type Named, type ValuesOf } from "./named.ts";
import { type Calendar, calendarIdOf, isZone, LONGEST_MS, periodAt } from "./periods.ts";
import { describeUnits } from "./units.ts";
import { periodic } from "./window.ts";

export interface CalendarLimit extends Calendar {
  readonly kind: typeof Kind.calendar;
  /** Units per period, 1 … 10^9. */
  readonly limit: number;
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

const endAt = (limit: CalendarLimit, atMs: number) => periodAt(limit, atMs).endsAtMs;
const startsAtMs = ({ endsAtMs }: CalendarRecord, limit: CalendarLimit) => periodAt(limit, endsAtMs - 1).startsAtMs;

const counted = periodic<CalendarLimit, CalendarRecord>({
  endAt,
  begin: (limit, endsAtMs) => ({ kind: limit.kind, calendar: calendarIdOf(limit), endsAtMs, count: 0 }),
  endsAtMs: ({ endsAtMs }) => endsAtMs,
  windowMs: ({ window }) => LONGEST_MS[window],
});

export const calendar = counter<CalendarLimit, CalendarRecord>({
  ...counted,
  /** An end that no clock reaches is damage. */
  read(record, value, limit, nowMs) {
    return counted.read(record && record.endsAtMs <= MAX_INSTANT_MS ? record : undefined, value, limit, nowMs);
  },
  charge(record, limit, cost, instant) {
    const { atMs } = instant;
    if (atMs > 0 && record.endsAtMs !== endAt(limit, atMs)) return record;
    return counted.charge(record, limit, cost, instant);
  },
  chargedAtMs: startsAtMs,
  encode: (of: CalendarLimit | CalendarRecord) => ["calendar" in of ? of.calendar : calendarIdOf(of), 0],
  decode: ([endsAtMs = 0, count = 0], limit) => ({ kind: limit.kind, calendar: calendarIdOf(limit), endsAtMs, count }),
  tell(record, limit, cost, refused, nowMs) {
    const windowMs = record.endsAtMs - startsAtMs(record, limit);
    return { ...counted.tell(record, limit, cost, refused, nowMs), windowMs };
  },
  records: { numbers: ["calendar", "endsAtMs", "count"], endsAtMs: ({ endsAtMs }) => endsAtMs },
  periods: {
    boundsAt(limit, nowMs) {
      const { startsAtMs, endsAtMs } = periodAt(limit, nowMs);
      return [startsAtMs, endsAtMs, endAt(limit, endsAtMs)];
    },
    lastAtMs: (limit, atMs) => endAt(limit, atMs) - 1,
    misfit({ window, zone, firstDay }) {
      if (!Object.hasOwn(LONGEST_MS, window)) return { field: "window", expected: "day, week, month or year" };
      if (!isZone(zone)) return { field: "zone", expected: ZONE_EXPECTED };
      const most = window === "day" ? 1 : window === "week" ? SUNDAY : LAST_FIRST_DAY;
      if (Number.isInteger(firstDay) && firstDay >= 1 && firstDay <= most) return undefined;
      return { field: "firstDay", expected: `an integer from 1 to ${most}` };
    },
  },
});

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
  readonly monthDay?: number | undefined;
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
  promise: (limit) => `resets at midnight${day("on", limit)}, ${limit.zone}`,
  worstCase: ({ limit, window, unit }) =>
    `up to ${describeUnits(2 * limit, unit)} in a short time around the end of a ${window}`,
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
