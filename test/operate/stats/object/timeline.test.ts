import { expect, it } from "vitest";
import { shortened, timelineOf } from "../../../../src/operate/stats/object/reply.ts";

const row = (from: number, minutes: number) => ({
  sums: JSON.stringify(Object.fromEntries(Array.from({ length: minutes }, (_, i) => [from + i, { a: 1, b: 2 }]))),
});

it("leaves out what lies outside of the time", () => {
  const { series } = timelineOf(10, 12, 1, [row(8, 3), row(11, 5)]);
  expect([...series]).toEqual([
    ["a", Float64Array.of(1, 1, 1)],
    ["b", Float64Array.of(2, 2, 2)],
  ]);
});

it("with too many points each covers a longer time, aligned to it, and the sums stay", () => {
  const timeline = timelineOf(1_003, 1_062, 1, [row(1_003, 60)]);
  expect(shortened(timeline, 120)).toBe(timeline);
  const { from, step, series } = shortened(timeline, 119);
  expect([from, step, series.get("a")]).toEqual([1_000, 5, Float64Array.of(2, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 3)]);
  expect(
    shortened(timeline, 1)
      .series.get("b")!
      .reduce((sum, one) => sum + one),
  ).toBe(120);
});
