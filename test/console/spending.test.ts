// What the console says of dollars and tokens: what was spent, how fast, and when a limit will be spent at that rate.

import { expect, it } from "vitest";
import type { Limit, PolicyAnswer, StatsAnswer } from "../../console/src/api.ts";
import { outlookOf, rateSince, type SpendingRate, spentIn, windowStartMs } from "../../console/src/data/spending.ts";
import { outlookText, rangeText } from "../../console/src/parts/spending.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse("2026-11-22T06:00:00Z");

it("adds up what one policy has paid for in a time, in dollars or tokens", () => {
  const settled = (minute: number, policy: string, count: number) => ({
    ...{ at: new Date(NOW + minute * 60_000).toISOString(), policy, paidFor: "plan", model: "gpt-5", count },
  });
  const points = [settled(0, "plan", 150_000), settled(59, "plan", 33), settled(60, "plan", 7), settled(0, "team", 9)];
  const stats = { settled: points } as unknown as StatsAnswer;
  const of = (unit: "usd" | "tokens") => ({ name: "plan", meter: { unit } }) as PolicyAnswer;
  const span = { fromMs: NOW, toMs: NOW + HOUR };
  expect([spentIn(stats, span, of("usd")), spentIn(stats, span, of("tokens"))]).toEqual([1.50033, 150_033]);
});

const LAST_HOUR = (perHour: number): SpendingRate => ({ perMs: perHour / HOUR, over: "last hour" });

it.each<[says: string, left: number, resetAfterMs: number, rate: SpendingRate]>([
  ["At the rate of the last hour, which is 0, the rest will not be spent", 5, DAY, LAST_HOUR(0)],
  ["At the rate of the last hour, the rest will be spent in about 2 h", 5, DAY, LAST_HOUR(2.5)],
  ["At the rate of the last hour, the rest will be spent in about 3 d", 180, 20 * DAY, LAST_HOUR(2.5)],
  ["At the rate of the last hour, the rest will be spent in about 11 h", 32, DAY, LAST_HOUR(3)],
  ["At the rate of the last hour, the rest will be spent in about 75 min", 5, DAY, LAST_HOUR(4)],
  ["At the rate of the last hour, it resets before the rest is spent", 5, 2 * HOUR, LAST_HOUR(2.5)],
  ["At the rate of the last hour, it resets before the rest is spent", 5, HOUR, LAST_HOUR(0.001)],
  ["At the rate of the last hour, the rest will be spent in about 1 s", 0.00001, HOUR, LAST_HOUR(9_000)],
  [
    "At the rate since its window began, 6 h ago, the rest will be spent in about 6 h",
    2.5,
    DAY,
    rateSince(NOW - 6 * HOUR, NOW, 2.5),
  ],
  ["At the rate since its window began, 1 s ago, the rest will be spent in about 3 s", 3, DAY, rateSince(NOW, NOW, 1)],
])("%s", (says, left, resetAfterMs, rate) => {
  expect(outlookText(outlookOf(left, resetAfterMs, rate), rate)).toBe(says);
});

it.each<[began: string | undefined, ends: string, limit: Partial<Limit>]>([
  ["2026-11-22T00:00Z", "2026-11-23T00:00Z", { algorithm: "fixed-window", window: "1d" }],
  ["2026-11-01T00:00Z", "2026-12-01T00:00Z", { algorithm: "calendar", window: "month", zone: "UTC", monthDay: 1 }],
  [
    "2026-10-15T07:00Z",
    "2026-11-15T08:00Z",
    { ...{ algorithm: "calendar", window: "month", monthDay: 15 }, zone: "America/Los_Angeles" },
  ],
  [
    "2026-11-15T00:00Z",
    "2026-11-22T00:00Z",
    { algorithm: "calendar", window: "week", zone: "UTC", weekStart: "sunday" },
  ],
  [undefined, "2026-11-22T00:00Z", { algorithm: "sliding-window", window: "1d" }],
  [undefined, "2026-11-22T00:00Z", { algorithm: "token-bucket", window: "1d" }],
])("knows when the window began, if it is one of the clock: %s", (began, ends, limit) => {
  expect(windowStartMs(limit as Limit, Date.parse(ends))).toBe(began && Date.parse(began));
});

it("names the time of a rate by what is counted of it", () => {
  expect([60, 360, 1_440, 10_080, 43_200].map((minutes) => rangeText(minutes, minutes * 60 - 40))).toEqual([
    ...["last hour", "last 6 h", "last 24 h", "last 7 d", "last 30 d"],
  ]);
  expect([rangeText(60, 45), rangeText(60, 1_200), rangeText(43_200, 7_200)]).toEqual([
    ...["last 45 s", "last 20 min", "last 2 h"],
  ]);
});
