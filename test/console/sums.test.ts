// What the console's numbers are made of: sums, steps of time, shares, and how precise they are.

import { describe, expect, it } from "vitest";
import type { Outcome, StatsAnswer, StatsPoint, StoreCalls } from "../../console/src/api.ts";
import {
  along,
  coveredSeconds,
  gridOf,
  latency,
  modelsIn,
  refusals,
  sum,
  sumBy,
  within,
} from "../../console/src/data/sums.ts";
import { atMost, duration, percent, rate } from "../../console/src/parts/numbers.ts";

const T0 = Date.parse("2026-11-22T12:00:00Z");
const MINUTE = 60_000;

function point(minute: number, outcome: Outcome, count: number, source = "redis", policy = "api"): StatsPoint {
  return { at: new Date(T0 + minute * MINUTE).toISOString(), policy, region: "eu", outcome, source, count };
}

it("adds up outcomes, and who answered", () => {
  const points = [
    point(0, "admitted", 5),
    point(0, "refused", 3, "cache"),
    point(1, "blocked", 1, "live"),
    point(1, "banned", 2),
    point(1, "admitted", 2, "fallback"),
  ];
  const sums = sum(points);
  expect(sums).toMatchObject({ all: 13, admitted: 7, refused: 3, blocked: 1, banned: 2, isolate: 4, store: 7 });
  expect(refusals(sums)).toBe(6);
  expect(
    sumBy([...points, point(0, "admitted", 90, "redis", "login")], ({ policy }) => policy).map(([name]) => name),
  ).toEqual(["login", "api"]);
  expect(within(points, { fromMs: T0 + MINUTE, toMs: T0 + 2 * MINUTE })).toHaveLength(3);
});

it("sums what models have used: the largest by name, the rest together, of one policy and time", () => {
  const at = (minute: number) => new Date(T0 + minute * MINUTE).toISOString();
  const use = (model: string, units: number, tokens: number, minute = 0, policy = "plan") => ({
    settled: [{ at: at(minute), policy, paidFor: "plan", model, count: units }],
    tokens: [
      { at: at(minute), policy, model, type: "input", count: tokens },
      { at: at(minute), policy, model, type: "output", count: 1 },
    ],
  });
  const uses = [
    ...[use("other", 500, 50), use("a", 10, 1), use("b", 30, 3), use("b", 30, 3), use("c", 20, 2)],
    ...[use("d", 5, 4), use("a", 99, 99, 1), use("a", 99, 99, 0, "team")],
  ];
  const stats = {
    settled: uses.flatMap(({ settled }) => settled),
    tokens: uses.flatMap(({ tokens }) => tokens),
  } as unknown as StatsAnswer;
  const span = { fromMs: T0, toMs: T0 + MINUTE };
  expect(modelsIn(stats, span, "plan", 2)).toEqual([
    { model: "b", input: 6, output: 2, units: 60 },
    { model: "c", input: 2, output: 1, units: 20 },
    { model: "other", input: 55, output: 3, units: 515 },
  ]);
  expect(modelsIn(stats, span, "plan", 4).map(({ model }) => model)).toEqual(["b", "c", "a", "d", "other"]);
  expect(modelsIn(stats, span, "team", 4)).toEqual([{ model: "a", input: 99, output: 1, units: 99 }]);
});

describe("a chart", () => {
  it.each([
    [60, 60_000, 60],
    [360, 60_000, 72],
    [1_440, 60_000, 96],
    [10_080, 3_600_000, 84],
    [43_200, 3_600_000, 120],
  ])("of %d minutes has bars that can be told apart", (minutes, pointMs, length) => {
    const grid = gridOf({ fromMs: T0, toMs: T0 + minutes * MINUTE }, pointMs);
    expect(grid.length).toBe(length);
    expect(grid.stepMs).toBeGreaterThanOrEqual(pointMs);
  });

  it("has a gap where nothing was counted, and a zero where others were", () => {
    const grid = { fromMs: T0, stepMs: MINUTE, length: 4 };
    const points = [point(0, "admitted", 4), point(0, "refused", 1), point(2, "admitted", 7), point(9, "refused", 7)];
    expect(along(points, grid, ({ outcome }) => outcome === "refused")).toEqual([1, null, 0, null]);
  });
});

it("divides by the time that the counts cover: isolates are half a flush behind, and it may have begun just now", () => {
  const span = { fromMs: T0, toMs: T0 + 5 * MINUTE };
  const stats = { heard: new Date(T0 + 4 * MINUTE).toISOString(), flush: 30 } as StatsAnswer;
  expect(coveredSeconds(span, stats)).toBe(225);
  expect(coveredSeconds(span, stats, T0 + 3 * MINUTE)).toBe(45);
  expect(coveredSeconds(span, { ...stats, heard: null })).toBe(300);
});

it("tells bounds of latency and no more, and an exact mean", () => {
  const calls = (seconds: Record<string, number>, sumS: number, outcome = "ok"): StoreCalls => ({
    at: "",
    place: "redis",
    outcome,
    count: Object.values(seconds).reduce((a, b) => a + b, 0),
    seconds,
    sum: sumS,
  });
  const found = latency([calls({ "0.01": 60, "0.005": 30 }, 0.7), calls({ "+Inf": 2, "0.1": 8 }, 9.3, "timeout")]);
  expect(found).toEqual({ count: 100, mean: 0.1, p50: 0.01, p99: Number.POSITIVE_INFINITY, failed: 10 });
  expect(atMost(found!.p50, found!.p99)).toBe("10 / > 1,000");
  expect(latency([])).toBeUndefined();
});

it("tells no number more precisely than it is", () => {
  expect([percent(0, 0), percent(0, 9), percent(1, 3), percent(1, 999), percent(1, 10_000)]).toEqual([
    "–",
    "0 %",
    "33 %",
    "0.1 %",
    "< 0.1 %",
  ]);
  expect([rate(1_284.4), rate(2.64), rate(0.2), rate(0.001), rate(0)].map((one) => one.join(""))).toEqual([
    ...["1,284/s", "2.6/s", "12/min", "3.6/h", "0/s"],
  ]);
  expect([400, 60_000, 74_000, 3_600_000, 3_610_000, 9_000_000].map(duration)).toEqual([
    ...["1 s", "1 min", "74 s", "1 h", "61 min", "2 h 30 min"],
  ]);
});
