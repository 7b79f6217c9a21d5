// Counts as data points of Analytics Engine.

import { expect, it } from "vitest";
import { dataPoints, MAX_POINTS } from "../../src/stats/analytics.ts";

const minute = (sums: Record<string, number>) => ({ minute: 1, sums, top: {} });

it("writes one point for each series over all minutes, each label in its column", () => {
  const counts = [
    minute({ "decisions\tapi\teu\trefused\tcache": 3, "units\tapi\trefused": 30, "near_limit\tapi\tapi-1": 2 }),
    minute({
      "decisions\tapi\teu\trefused\tcache": 4,
      "store_calls\tshard 0\tok": 5,
      "store_seconds\tshard 0\tok\t0.005": 5,
      "store_seconds_sum\tshard 0\tok": 12_500,
      "lease_units\tapi\tspent": 9,
    }),
  ];
  expect(dataPoints(counts)).toEqual([
    { indexes: ["api"], blobs: ["decisions", "api", "eu", "refused", "cache"], doubles: [7, 0] },
    { indexes: ["api"], blobs: ["units", "api", "", "refused", ""], doubles: [30, 0] },
    { indexes: ["api"], blobs: ["near_limit", "api", "", "", "api-1"], doubles: [2, 0] },
    { indexes: ["shard 0"], blobs: ["store_calls", "shard 0", "", "ok", ""], doubles: [5, 0.0125] },
    { indexes: ["api"], blobs: ["lease_units", "api", "", "spent", ""], doubles: [9, 0] },
  ]);
});

it("sums regions before policies: one label that grows hides no policy", () => {
  const sums: Record<string, number> = {};
  for (let i = 1; i <= 100; i++) sums[`decisions\tapi\tr${i}\tadmitted\tredis`] = 100 + i;
  for (let i = 1; i <= 10; i++) sums[`decisions\tp${i}\teu\tadmitted\tredis`] = i;
  const points = dataPoints([minute(sums)]);
  expect(points.length).toBeLessThanOrEqual(MAX_POINTS);
  const sumOf = (policy: string) =>
    points.filter(({ blobs }) => blobs[1] === policy).reduce((sum, { doubles }) => sum + doubles[0]!, 0);
  expect(sumOf("api")).toBe(15_050);
  expect(Array.from({ length: 10 }, (_, i) => sumOf(`p${i + 1}`))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

it("writes at most 25 points: the largest, and the sums of the others by metric", () => {
  const sums: Record<string, number> = {};
  for (let i = 1; i <= 100; i++) sums[`decisions\tapi\tr${i}\tadmitted\tredis`] = i;
  for (let i = 1; i <= 100; i++) sums[`near_limit\tapi\tapi-${i}`] = 1;
  const points = dataPoints([minute(sums)]);
  expect(points.length).toBeLessThanOrEqual(MAX_POINTS);
  const of = (metric: string) => points.filter(({ blobs }) => blobs[0] === metric);
  const sum = (metric: string) => of(metric).reduce((all, { doubles }) => all + doubles[0]!, 0);
  expect([sum("decisions"), sum("near_limit")]).toEqual([5_050, 100]);
  expect(of("decisions")[0]).toMatchObject({
    blobs: ["decisions", "api", "r100", "admitted", "redis"],
    doubles: [100, 0],
  });
  expect(of("decisions").at(-1)).toMatchObject({ blobs: ["decisions", "other", "other", "other", "other"] });
});

it("hides no policy's decisions behind the tokens and dollars of many models", () => {
  const sums: Record<string, number> = {};
  for (let i = 1; i <= 60; i++) {
    sums[`settled_units\tplan\tplan\tm${i}`] = 4_000;
    for (const type of ["input", "output"]) sums[`tokens\tplan\tm${i}\t${type}`] = 900 + i;
  }
  const decided = ["plan", "api", "login"].flatMap((policy) => [
    [`decisions\t${policy}\teu\tadmitted\tredis`, 50] as const,
    [`decisions\t${policy}\teu\trefused\tcache`, 9] as const,
    [`units\t${policy}\tadmitted`, policy === "plan" ? 90_000 : 50] as const,
    [`units\t${policy}\trefused`, policy === "plan" ? 9_000 : 9] as const,
    [`near_limit\t${policy}\t${policy}`, 1] as const,
    [`near_limit\t${policy}\t${policy}-2`, 1] as const,
    [`near_limit\t${policy}\t${policy}-3`, 1] as const,
    [`near_limit\t${policy}\t${policy}-4`, 1] as const,
  ]);
  const points = dataPoints([minute({ ...sums, ...Object.fromEntries(decided) })]);
  expect(points.length).toBeLessThanOrEqual(MAX_POINTS);
  const of = (metric: string) => points.filter(({ blobs }) => blobs[0] === metric);
  expect(of("decisions").map(({ blobs, doubles }) => [blobs[1], blobs[3], doubles[0]])).toEqual(
    ["admitted", "refused"].flatMap((outcome) =>
      ["plan", "api", "login"].map((policy) => [policy, outcome, outcome === "admitted" ? 50 : 9]),
    ),
  );
  expect(of("settled_units").reduce((all, { doubles }) => all + doubles[0]!, 0)).toBe(60 * 4_000);
});
