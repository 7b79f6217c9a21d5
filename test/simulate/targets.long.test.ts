// A short form of `npm run simulate`: the same bounds, with one seed and only the quick kinds of traffic.

import { describe, expect, it, vi } from "vitest";
import { mostCounted, simulate } from "../../scripts/simulate/run.ts";
import { meansOf, missed, ROWS, type Row, scenarioOf } from "../../scripts/simulate/targets.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { firstOf } from "../support/cases/draws.ts";

// Seconds of computing, and more on a busy machine. Its time is virtual, not measured.
vi.setConfig({ testTimeout: 180_000 });

const SEEDS = [1];
const WINDOWS = 2;

const runs = (row: Row) => Promise.all(SEEDS.map((seed) => simulate(scenarioOf({ ...row, windows: WINDOWS }, seed))));
const isShort = ({ limit, demand, mode }: Row) =>
  limit === 1_000 || (limit === 10_000 && demand <= 2 && mode === "leased");
const rows = ROWS.filter(isShort).filter(({ limit, isolates }) => limit === 1_000 || isolates === 20);
const steady = rows.filter(({ isolates, arrivals }) => isolates === 20 && arrivals === "steady");
const others = rows.filter((row) => !steady.includes(row) && row.limit === 1_000);

const meansOfRow = async (row: Row) => meansOf(row, await runs(row));
const nameOf = ({ limit, demand, mode, isolates, arrivals }: Row) =>
  [`${limit} units, demand ${demand}, ${mode}, ${isolates} isolates, ${arrivals}`] as const;

describe("the bounds hold for", () => {
  it.each(firstOf(steady).map((row) => [...nameOf(row), row] as const))("%s", async (_, row) => {
    const means = await meansOfRow(row);
    expect(missed(row, means, means)).toEqual([]);
  });

  it("100 isolates, and bursts that all begin at once", async () => {
    const base = await meansOfRow(steady.find(({ limit, mode }) => limit === 1_000 && mode === "leased")!);
    expect(others).toHaveLength(2);
    for (const row of others) expect(missed(row, await meansOfRow(row), base), ...nameOf(row)).toEqual([]);
  });
});

it.each([
  ["weighted", 9.4],
  ["whole", 10],
] as const)("the admissions are counted as the algorithm counts them: %s", (oldest, expected) => {
  const limit = { kind: Kind[oldest], limit: 10, bucketMs: 1000, buckets: 2 };
  const admissions = [
    { atMs: 900, units: 3 },
    { atMs: 1500, units: 4 },
    // 0.2 of the bucket have passed: 0.8 of the first bucket's 3 units count, or all of them.
    { atMs: 2200.7, units: 3 },
    { atMs: 3000, units: 1 },
  ];
  expect(mostCounted(admissions, limit)).toBeCloseTo(expected, 9);
});

it("a bound that is missed is named", () => {
  const row = ROWS[1]!;
  const good = { callsPerRequest: 0, withoutWait: 1, mostRelative: 1, countedRelative: 1, used: 1 };
  expect(missed(row, good, good)).toEqual([]);
  expect(missed(row, { ...good, callsPerRequest: 0.2, countedRelative: 1.001, used: 0.5 }, good)).toHaveLength(3);
  expect(missed({ ...row, bounds: { usedLessBy: 0.03 } }, { ...good, used: 0.96 }, good)).toEqual(["used >= 0.9700"]);
});
