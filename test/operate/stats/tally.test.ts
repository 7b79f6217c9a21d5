// Sums by series and minute, and the clients with most refusals: bounded, and always complete.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { MinuteCounts } from "../../../src/operate/stats/batch.ts";
import { Minutes, Tally, TopClients } from "../../../src/operate/stats/tally.ts";
import { draws } from "../../support/cases/draws.ts";

const MINUTE_MS = 60_000;

/** The sum of all series of a metric. */
function sumOf(metric: string, minutes: readonly MinuteCounts[]): number {
  const sums = minutes.flatMap((one) => Object.entries(one.sums));
  return sums.filter(([series]) => series.startsWith(`${metric}\t`)).reduce((sum, [, count]) => sum + count, 0);
}

it("names series by metric and labels, also if two labels are the same word", () => {
  const tally = new Tally(7);
  tally.add(["decisions", "live", "eu", "admitted", "live"], 1);
  tally.add(["decisions", "live", "eu", "admitted", "live"], 2);
  tally.add(["fallback", "live"], 1);
  tally.addRefusal("api", "hash");
  tally.addWhere("api", "hash", "/v1\tDE");
  tally.addWhere("api", "of nobody", "/v1\tDE");
  expect(tally.counts()).toEqual({
    minute: 7,
    sums: { "decisions\tlive\teu\tadmitted\tlive": 3, "fallback\tlive": 1 },
    top: { api: [["hash", 1, 0]] },
    where: { "api\thash": [["/v1\tDE", 1, 0]] },
  });
});

// A caller of the library, or of RPC, names the region.
it("counts 400 regions by name and the others as other, and hides no policy, limit or place", () => {
  const tally = new Tally(0);
  for (let i = 0; i < 5_000; i++) tally.add(["decisions", "api", `r${i}`, "refused", "cache"], 1);
  for (let i = 0; i < 5_000; i++) tally.add(["decisions", "new", `s${i}`, "refused", "cache"], 1);
  tally.add(["decisions", "new", "r0", "refused", "cache"], 1);
  tally.add(["decisions", "api", "r0", "refused", "cache"], 1);
  const { sums } = tally.counts();
  expect(Object.keys(sums)).toHaveLength(403);
  expect(sums).toMatchObject({
    "decisions\tapi\tr0\trefused\tcache": 2,
    "decisions\tapi\tr399\trefused\tcache": 1,
    "decisions\tapi\tother\trefused\tcache": 4_600,
    "decisions\tnew\tr0\trefused\tcache": 1,
    "decisions\tnew\tother\trefused\tcache": 5_000,
  });
});

it("names no more regions from 1,000 series on, and still every policy, limit and place", () => {
  const tally = new Tally(0);
  for (let i = 0; i < 300; i++) {
    for (const policy of ["a", "b", "c", "d"]) tally.add(["decisions", policy, `r${i}`, "refused", "cache"], 1);
  }
  tally.add(["decisions", "new", "r0", "refused", "cache"], 1);
  tally.add(["near_limit", "new", "new-1"], 1);
  tally.add(["store_seconds", "a", "ok", "0.005"], 1);
  tally.add(["store_seconds_sum", "a", "ok"], 1_500);
  tally.add(["lease_units", "api", "spent"], 4);
  const { sums } = tally.counts();
  expect(Object.keys(sums)).toHaveLength(1_009);
  expect(sums).toMatchObject({
    "decisions\ta\tother\trefused\tcache": 50,
    "decisions\tnew\tother\trefused\tcache": 1,
    "near_limit\tnew\tnew-1": 1,
    "store_seconds\ta\tok\t0.005": 1,
    "store_seconds_sum\ta\tok": 1_500,
    "lease_units\tapi\tspent": 4,
  });
});

it("merges the oldest minutes of a day that could not be handed on, and loses nothing", () => {
  const minutes = new Minutes();
  for (let minute = 0; minute < 1_440; minute++) {
    const tally = minutes.at(minute * MINUTE_MS);
    for (let i = 0; i < 20; i++) tally.add(["decisions", "api", `r${minute}-${i}`, "refused", "cache"], 1);
    for (let i = 0; i < 70; i++) tally.addRefusal("api", `c${minute}-${i}`);
    for (let i = 0; i < 70; i++) tally.addWhere("api", `c${minute}-${i}`, `/${minute}-${i}\tDE`);
  }
  const taken = minutes.take();
  expect(taken.map(({ minute }) => minute)).toEqual(Array.from({ length: 10 }, (_, i) => 1_430 + i));
  expect(sumOf("decisions", taken)).toBe(1_440 * 20);
  expect(Object.keys(taken[0]!.sums).length).toBeLessThanOrEqual(1_001);
  const refused = taken.flatMap(({ top }) => top.api!).reduce((sum, [, count]) => sum + count, 0);
  expect(refused).toBe(1_440 * 70);
  expect(taken.every(({ top }) => top.api!.length === 64)).toBe(true);
  expect(taken.every(({ where }) => Object.keys(where!).length <= 10)).toBe(true);
});

it("keeps what was counted when the clock is set back", () => {
  const minutes = new Minutes();
  for (const minute of [5, 4, 5, 4]) minutes.at(minute * MINUTE_MS).add(["fallback", "api"], 1);
  expect(sumOf("fallback", minutes.take())).toBe(4);
});

it("counts clients exactly while there are at most 64 clients, the most refused first", () => {
  const top = new TopClients();
  for (let client = 1; client <= 64; client++) for (let i = 0; i < client; i++) top.add(`c${client}`);
  expect(top.list()).toEqual(Array.from({ length: 64 }, (_, i) => [`c${64 - i}`, 64 - i, 0]));
});

it("names the bounds of the true count of each client, and every client above 1/64 of all refusals", () => {
  const refusals = fc.array(fc.tuple(fc.nat(120), fc.integer({ min: 1, max: 9 })), { maxLength: 400, size: "max" });
  fc.assert(
    fc.property(refusals, (all) => {
      const top = new TopClients();
      const truth = new Map<string, number>();
      let sum = 0;
      for (const [client, refused] of all) {
        top.add(`c${client}`, refused);
        truth.set(`c${client}`, (truth.get(`c${client}`) ?? 0) + refused);
        sum += refused;
      }
      const list = top.list();
      expect(list.length).toBe(Math.min(64, truth.size));
      expect(list.reduce((total, [, refused]) => total + refused, 0)).toBe(sum);
      for (const [key, refused, excess] of list) {
        expect(truth.get(key)!).toBeLessThanOrEqual(refused);
        expect(truth.get(key)!).toBeGreaterThanOrEqual(refused - excess);
      }
      const listed = new Set(list.map(([key]) => key));
      for (const [key, refused] of truth) if (refused > sum / 64) expect(listed).toContain(key);
    }),
    // To find a smaller case takes minutes.
    { ...draws(100), endOnFailure: true },
  );
});
