// Periods of a calendar, against the vectors and against a search: the search reads the local date of every minute
// around the ends of days, and knows no offsets.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { CalendarLimit } from "../../../src/kernel/core/calendar.ts";
import { MAX_INSTANT_MS, MAX_WINDOW_MS } from "../../../src/kernel/core/layout.ts";
import { calendarIdOf, isZone, LONGEST_MS, type Period, periodAt } from "../../../src/kernel/core/periods.ts";
import { calendarOf, zone } from "../../support/cases/arbitrary-limits.ts";
import { draws } from "../../support/cases/draws.ts";
import vectors from "../../vectors/calendar.json" with { type: "json" };

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

type Calendar = Pick<CalendarLimit, "window" | "zone" | "firstDay">;

const formats = new Map<string, Intl.DateTimeFormat>();
function localDateOf(zone: string, atMs: number): [year: number, month: number, day: number] {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat("en-US", { timeZone: zone, dateStyle: "short" });
  formats.set(zone, format);
  const parts = format.formatToParts(atMs).filter(({ type }) => type !== "literal");
  const [month, day, year] = parts.map(({ value }) => Number(value)) as [number, number, number];
  return [year + (year >= 70 ? 1900 : 2000), month, day];
}

/** The number of the period that a local date lies in: later periods have larger numbers. */
function labelOf({ window, zone, firstDay }: Calendar, atMs: number): number {
  const [year, month, day] = localDateOf(zone, atMs);
  const isLate = day >= firstDay;
  if (window === "month") return 12 * year + month - (isLate ? 0 : 1);
  if (window === "year") return isLate || month > 1 ? year : year - 1;
  const days = Date.UTC(year, month - 1, day) / DAY_MS;
  // 1970-01-05 was a Monday.
  return window === "day" ? days : Math.floor((days - 4 - (firstDay - 1)) / 7);
}

/** The first instant after `fromMs` whose local date lies in a later period than `label`. */
function nextAbove(calendar: Calendar, label: number, fromMs: number): number {
  let atMs = fromMs;
  while (labelOf(calendar, atMs) <= label) atMs += DAY_MS;
  // A local date may come for a minute, and again an hour later.
  atMs -= DAY_MS + 2 * 60 * MINUTE_MS;
  while (labelOf(calendar, atMs) <= label) atMs += MINUTE_MS;
  return atMs;
}

/** @param atMs lies in the second or a later period that is searched: the first one has begun at any time. */
function searchedPeriod(calendar: Calendar, atMs: number): Period {
  let endsAtMs = atMs - (atMs % MINUTE_MS) - LONGEST_MS[calendar.window] - 3 * DAY_MS;
  for (;;) {
    const startsAtMs = endsAtMs;
    endsAtMs = nextAbove(calendar, labelOf(calendar, startsAtMs), startsAtMs);
    if (atMs < endsAtMs) return { startsAtMs, endsAtMs };
  }
}

it("are those of all vectors, at the first instant, within, and at the last", () => {
  const found = vectors.cases.map(({ zone, window, weekStart, startMs, atMs, endMs }) => {
    const calendar = { zone, window: window as "day", firstDay: weekStart === "sunday" ? 7 : 1 };
    return [startMs, atMs, endMs - 1].map((one) => periodAt(calendar, one));
  });
  const expected = vectors.cases.map(({ startMs, endMs }) => {
    return Array(3).fill({ startsAtMs: startMs, endsAtMs: endMs });
  });
  expect(found).toEqual(expected);
  expect(found.length).toBeGreaterThan(60);
});

it("begin where a search over local dates finds their first instant, and end where it finds the next one's", () => {
  const zones = fc.oneof(zone, fc.constantFrom(...Intl.supportedValuesOf("timeZone")));
  const atMs = fc.integer({ min: Date.UTC(1975, 0), max: Date.UTC(2035, 0) });
  const property = fc.property(calendarOf, zones, atMs, (calendar, zone, atMs) => {
    const one = { ...calendar, zone };
    const period = searchedPeriod(one, atMs);
    const { startsAtMs, endsAtMs } = period;
    expect([atMs, startsAtMs, endsAtMs - 1].map((instant) => periodAt(one, instant))).toEqual(Array(3).fill(period));
    expect([startsAtMs - 1, endsAtMs].map((instant) => periodAt(one, instant))).toEqual([
      expect.objectContaining({ endsAtMs: startsAtMs }),
      expect.objectContaining({ startsAtMs: endsAtMs }),
    ]);
  });
  fc.assert(property, draws(150));
});

it("answer for any instant that a damaged record may name", () => {
  const day = { window: "day", zone: "UTC", firstDay: 1 } as const;
  const last = { startsAtMs: MAX_INSTANT_MS, endsAtMs: MAX_INSTANT_MS + DAY_MS };
  expect([MAX_INSTANT_MS, MAX_INSTANT_MS + DAY_MS, Number.MAX_SAFE_INTEGER].map((at) => periodAt(day, at))).toEqual(
    Array(3).fill(last),
  );
  expect(periodAt(day, -1)).toEqual({ startsAtMs: -DAY_MS, endsAtMs: 0 });
});

it("have a number for each calendar, whatever the case of the zone's letters", () => {
  const ids = ["day 1", "week 1", "week 7", "month 1", "month 15", "year 1", "year 15"].flatMap((text) => {
    const [window, firstDay] = text.split(" ");
    return Intl.supportedValuesOf("timeZone").map((zone) => {
      const calendar = { window: window as "day", firstDay: Number(firstDay), zone };
      const id = calendarIdOf(calendar);
      return calendarIdOf({ ...calendar, zone: zone.toUpperCase() }) === id ? id : Number.NaN;
    });
  });
  expect(ids.filter(Number.isNaN)).toEqual([]);
  expect(Math.min(...ids)).toBeGreaterThanOrEqual(1);
  expect(Math.max(...ids)).toBeLessThanOrEqual(MAX_WINDOW_MS);
  // One pair among thousands may share a number. A policy that has both is refused.
  expect(new Set(ids).size).toBeGreaterThan(ids.length - 3);
});

it("exist for the names of IANA only", () => {
  expect(
    ["UTC", "Europe/Berlin", "america/new_york", "Etc/GMT+5", "US/Pacific", "gmt", "CET"].filter(isZone),
  ).toHaveLength(7);
  const wrong = ["", "+01:00", "-0500", "Europe/Nowhere", "undefined", "Europe/Berlin ", "1", undefined, null, ["UTC"]];
  expect((wrong as string[]).filter(isZone)).toEqual([]);
  // Runtimes read these in their own ways.
  expect(["PST", "BST", "ist", "ACT", "JST", "CST"].filter(isZone)).toEqual([]);
});

it("are counted by the limit of their window: the window's length is its longest", () => {
  const limit: CalendarLimit = { kind: Kind.calendar, limit: 1, window: "month", zone: "UTC", firstDay: 1 };
  const { startsAtMs, endsAtMs } = periodAt(limit, Date.UTC(2026, 0, 5));
  expect(endsAtMs - startsAtMs).toBe(LONGEST_MS.month);
});
