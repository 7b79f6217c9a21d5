/**
 * Days, weeks, months and years of a time zone, as instants. `Intl` knows the zones; there is no table of them here.
 *
 * A period lasts from the first instant whose local date lies in it to the first instant of the next one. On some days
 * midnight does not exist, or exists twice, and some days do not exist at all.
 */

import { MAX_INSTANT_MS, MAX_WINDOW_MS } from "./layout.ts";

export type CalendarWindow = "day" | "week" | "month" | "year";

/** What says which periods are meant. */
export interface Calendar {
  /** The length of a period. */
  readonly window: CalendarWindow;
  /** An IANA time zone, for example `America/Los_Angeles`. */
  readonly zone: string;
  /** The day on which a period begins: of a week 1 (Monday) … 7, of a month or of January 1 … 28. With `day`: 1. */
  readonly firstDay: number;
}

/** Both are instants, ms since the epoch. The end belongs to the next period. */
export interface Period {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

const DAY_MS = 86_400_000;

/** The longest period without a change of clocks, in ms. */
export const LONGEST_MS: Readonly<Record<CalendarWindow, number>> = {
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
  year: 366 * DAY_MS,
};

/** What one calendar needs again: the last period that was asked for is nearly always the next one too. */
interface Known extends Calendar {
  readonly id: number;
  readonly offsetAt: (atMs: number) => number;
  /** The periods that were computed last, the newest first. */
  recent: readonly Period[];
}

/** Calendars come from configurations, which name few. */
const MAX_KNOWN = 1_000;
const known = new Map<string, Known[]>();

function knownOf({ window, zone, firstDay }: Calendar): Known {
  const ofZone = known.get(zone);
  // Every decision comes through here: no function is made for it.
  for (const one of ofZone ?? []) if (one.window === window && one.firstDay === firstDay) return one;
  if (known.size >= MAX_KNOWN) known.clear();
  const offsetAt = ofZone?.[0]?.offsetAt ?? offsetsOf(zone);
  const made: Known = {
    window,
    zone,
    firstDay,
    id: hash(`${window} ${firstDay} ${zone.toLowerCase()}`),
    offsetAt,
    recent: [],
  };
  known.set(zone, [...(ofZone ?? []), made]);
  return made;
}

/** FNV-1a, cut to the range of a window in ms. Two calendars of one policy with the same number are refused. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return ((sum >>> 0) % MAX_WINDOW_MS) + 1;
}

/** A number for the periods of a limit, 1 … 31 days in ms, which its record has in the place of a window. */
export function calendarIdOf(calendar: Calendar): number {
  return knownOf(calendar).id;
}

/**
 * Names of three letters in the IANA database. Runtimes know other abbreviations too, each in its own way: V8 takes
 * "BST" for the time of Bangladesh.
 */
const SHORT_ZONES = /^(?:UTC|GMT|UCT|CET|EET|MET|WET|EST|MST|HST|PRC|ROC|ROK)$/i;

/** Whether it is an IANA time zone that this runtime knows. */
export function isZone(zone: string): boolean {
  if (typeof zone !== "string") return false;
  if (known.has(zone)) return true;
  // Intl takes offsets too, such as "+01:00".
  if (!/^[A-Za-z][\w+/-]*$/.test(zone) || (zone.length === 3 && !SHORT_ZONES.test(zone))) return false;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/**
 * The period that an instant lies in. @param instantMs ms since the epoch. Instants after the year 9999 are damage, and
 * belong to the period of its end.
 */
export function periodAt(calendar: Calendar, instantMs: number): Period {
  const one = knownOf(calendar);
  const atMs = Math.min(instantMs, MAX_INSTANT_MS);
  for (const period of one.recent) if (period.startsAtMs <= atMs && atMs < period.endsAtMs) return period;
  const period = computePeriod(one, atMs);
  one.recent = [period, ...one.recent.slice(0, 2)];
  return period;
}

/**
 * The local date of the instant names a period. If clocks were set back across midnight, the instant may belong to the
 * next one, which has begun once already.
 */
function computePeriod({ window, firstDay, offsetAt }: Known, atMs: number): Period {
  const today = Math.floor((atMs + offsetAt(atMs)) / DAY_MS);
  let day = firstDayOf(window, firstDay, today);
  let startsAtMs = startOf(day, offsetAt);
  for (;;) {
    day = nextDayOf(window, firstDay, day);
    const endsAtMs = startOf(day, offsetAt);
    if (atMs < endsAtMs) return { startsAtMs, endsAtMs };
    startsAtMs = endsAtMs;
  }
}

// Days are numbered from 1970-01-01 on, which was a Thursday.

function firstDayOf(window: CalendarWindow, firstDay: number, day: number): number {
  if (window === "day") return day;
  if (window === "week") return day - ((((day + 4 - firstDay) % 7) + 7) % 7);
  const date = new Date(day * DAY_MS);
  const [year, month] = [date.getUTCFullYear(), window === "year" ? 0 : date.getUTCMonth()];
  const first = dayOf(year, month, firstDay);
  return first <= day ? first : window === "year" ? dayOf(year - 1, 0, firstDay) : dayOf(year, month - 1, firstDay);
}

function nextDayOf(window: CalendarWindow, firstDay: number, day: number): number {
  if (window === "day") return day + 1;
  if (window === "week") return day + 7;
  const date = new Date(day * DAY_MS);
  const [years, months] = window === "year" ? [1, 0] : [0, 1];
  return dayOf(date.getUTCFullYear() + years, date.getUTCMonth() + months, firstDay);
}

function dayOf(year: number, month: number, day: number): number {
  return Date.UTC(year, month, day) / DAY_MS;
}

/** The first instant whose local date is this day, or a later one if the zone has skipped the day. */
function startOf(day: number, offsetAt: (atMs: number) => number): number {
  const midnightMs = day * DAY_MS;
  const [before, after] = [offsetAt(midnightMs - DAY_MS), offsetAt(midnightMs + DAY_MS)];
  const startsAtMs = midnightMs - before;
  if (before === after) return startsAtMs;
  const changesAtMs = changeBetween(midnightMs - DAY_MS, midnightMs + DAY_MS, before, offsetAt);
  return startsAtMs < changesAtMs ? startsAtMs : Math.max(changesAtMs, midnightMs - after);
}

/** The first instant with another offset than the one before it. */
function changeBetween(fromMs: number, toMs: number, before: number, offsetAt: (atMs: number) => number): number {
  let [low, high] = [fromMs, toMs];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * How far the clocks of a zone are ahead of UTC at an instant, in ms. Making a format takes 50 times as long as using
 * it.
 */
function offsetsOf(zone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  return (atMs) => {
    const [, sign, hours = 0, minutes = 0, seconds = 0] =
      /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(format.format(atMs)) ?? [];
    const offsetMs = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
    return sign === "-" ? -offsetMs : offsetMs;
  };
}
