// bench/results/benchmarks.md shows what bench/results/*.json keep.

import { expect, it } from "vitest";
import { sectionOf } from "../../bench/support/latency-report.ts";
import { WORKERS } from "../../bench/support/limiters.ts";
import { pageOf } from "../../bench/support/page.ts";
import { figure, type Section, table, turnsOf } from "../../bench/support/part.ts";
import { chartOf, noiseOf, showBlocks, showText, targetRows } from "../../bench/support/show.ts";
import { summaryOf } from "../../bench/support/summary.ts";
import { read, SPREAD, tableIn } from "../docs/markdown.ts";

const three = (...values: number[]) => values.map((value) => figure(value));

it("the page and its charts are drawn from what was kept: npm run bench -- --redraw", () => {
  const page = pageOf();
  expect(page.size).toBeGreaterThan(5);
  for (const [name, content] of page) expect(read(`bench/results/${name}`), name).toBe(content);
});

it.each<[what: string, cell: ReturnType<typeof figure>[], text: string, wide?: string]>([
  ["the median of repetitions that agree", three(1.22, 1.18, 1.19), "1.19", "1.19"],
  ["the smallest and the largest of others", three(1.3, 1.18, 1.19), "1.19 (1.18 to 1.30)", "1.19 ±9 %"],
  ["9 % are no spread", three(1, 1.09, 1), "1.00"],
  ["10 % are one", three(1, 1.101, 1), "1.00 (1.00 to 1.10)", "1.00 ±10 %"],
  ["three digits", [figure(12.84)], "12.8"],
  ["a range around 0", three(-1, 0.5, 2), "0.50 (-1.00 to 2.00)", "0.50 (-1.00 to 2.00)"],
  ["a range of parts", [figure(0.8, "percent"), figure(0.9, "percent")], "85 % (80 % to 90 %)", "85 % (80 % to 90 %)"],
  ["how many have measured", three(Number.NaN, 2, 2.01), "2.00 (in 2 of 3)", "2.00 (in 2 of 3)"],
  ["a dash where none has", three(Number.NaN), "–", "–"],
  ["percent", [figure(0.092, "percent")], "9.2 %"],
  ["dollars", [figure(8.3, "dollars")], "$8.30"],
  ["counts", [figure(1_200, "count")], "1200"],
  ["a sign", [figure(40, "signed")], "+40"],
  ["bold above a bound", [{ value: 1.45, boldAbove: 1 }], "**1.45**"],
])("a cell shows %s", (_what, cell, text, wide = text) => {
  expect([showText(cell), showText(cell, { wide: true })]).toEqual([text, wide]);
});

const run = (value: number, holds: boolean): Section => ({
  blocks: ["### Heading", table(["", "µs"], [["a", figure(value)]])],
  targets: [{ what: "w", bound: "< 3", measured: [figure(value), " µs"], holds }],
  charts: {},
  figures: {},
});

it("a target holds if it does so in most repetitions", () => {
  expect(targetRows([run(1, true), run(2, true), run(3, false)])).toEqual([
    ["w", "< 3", "2.00 (1.00 to 3.00) µs", "yes, in 2 of 3"],
  ]);
  expect(targetRows([run(1, true), run(3, false)])[0]!.at(-1)).toBe("**no**, in 1 of 2");
});

it("a figure beside its bound gets a digit more, so that it cannot read like the bound", () => {
  expect(targetRows([run(2.99, true), run(2.996, true), run(3.01, false)])[0]![2]).toBe("2.996 µs");
});

it("in turns, each begins and each goes last", () => {
  expect([0, 1, 2, 3].map((round) => turnsOf(3, round))).toEqual([
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
    [0, 2, 1],
  ]);
});

it("features: differences below the widest spread of a request that does not use one mean nothing", () => {
  const features = (us: number, ratio: number): Section => {
    const rows = [
      ["a", figure(us), figure(ratio), figure(100 * us)],
      ["page alone", "–", "–", "–"],
    ];
    return { ...run(0, true), blocks: [table(["", "µs, not used", "ratio, not used", "µs, used"], rows)] };
  };
  expect(noiseOf([features(-4, 1), features(2.5, 0.97), features(1, 1.1)])).toContain(
    "6.50 µs and by a ratio of up to 0.13",
  );
});

const answers = (...latencies: number[]) => latencies.map((latencyMs) => ({ status: 200, latencyMs }));
const served = (id: string, perSecond: number[], cpuUs: number[]) => ({ id, title: id, perSecond, cpuUs });

it("latency: two Workers are compared within each round, and a limiter that makes no call shows 0", () => {
  const measured = WORKERS.slice(1).map((worker) => {
    return { worker, answers: answers(5, 6), baseline: answers(1, 1), calls: worker.id === "upstash" ? 0 : 2 };
  });
  const cells = new Map([0.5, 10].map((load) => [load, measured]));
  const section = sectionOf(cells, measured, measured, {
    within: [served("none", [9, 9], [9, 9]), served("library", [6, 9], [1, 1]), served("upstash", [4, 10], [1, 1])],
    inFront: [served("forward", [9, 9], [9, 9]), served("fields", [9, 9], [2, 4]), served("leased", [9, 9], [3, 4])],
  });
  expect(targetRows([section]).slice(-2)).toEqual([
    [expect.stringContaining("with timeout, abort and five fields"), "≤ 1.15", "1.25", "**no**, in 0 of 1"],
    [expect.stringContaining("`@upstash/ratelimit` with its cache"), "≥ 1", "1.20", "yes, in 1 of 1"],
  ]);
  const { rows: bars } = section.charts["calls.svg"]!;
  expect(bars.map(({ value }) => value)).toContain(0);
  expect(summaryOf(new Map([["latency", [section]]]))).toContain("none from `@upstash/ratelimit` with its cache, and");
});

it("tests that read the page see the medians", () => {
  const shown = showBlocks([run(1, true), run(2, true), run(3, true)]);
  expect(shown).toBe("### Heading\n\n|  | µs |\n|---|---|\n| a | 2.00 (1.00 to 3.00) |");
  expect(tableIn(shown, "")).toEqual([{ "": "a", µs: "2.00" }]);
  expect("30 % (20 % to 31 %)".replace(SPREAD, "")).toBe("30 %");
  expect("1.19 ±13 %".replace(SPREAD, "")).toBe("1.19");
  expect("1.19 ±13 % (in 2 of 3)".replace(SPREAD, "")).toBe("1.19");
  expect("1.19 (in 1 of 3)".replace(SPREAD, "")).toBe("1.19");
});

it("a chart shows the medians, and the spread of each bar", () => {
  const bars = (value: number) => ({ title: "t", unit: "ms", rows: [{ name: "a", value }] });
  expect(chartOf([bars(3), bars(1), bars(2)])).toEqual({
    ...bars(0),
    rows: [{ name: "a", value: 2, from: 1, to: 3 }],
  });
});
