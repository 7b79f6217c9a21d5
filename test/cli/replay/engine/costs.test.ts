// What each consistency would cost over a log: counted by the isolate's own code.

import { expect, it } from "vitest";
import type { Costs } from "../../../../src/cli/replay/engine/summary.ts";
import { renderReport } from "../../../../src/cli/replay/report/page.tsx";
import { textReport } from "../../../../src/cli/replay/report/text.ts";
import { API, requestAt, run } from "./logs.ts";

const SITE = { name: "site", key: ["global"], limits: [{ limit: 1_000, window: "10s" }] };
const COSTS = { costs: true };
/** 80 requests per second for a minute, evenly. */
const BUSY = Array.from({ length: 80 * 60 }, (_, i) => requestAt(Math.floor(i * 12.5)));

const byName = (settings: readonly Costs[]) => new Map(settings.map((one) => [one.consistency, one]));

it("strict makes a call for each request, and none for a refusal that is known", async () => {
  const entries = Array.from({ length: 15 }, (_, i) => requestAt(i * 100));
  const [api] = (await run(entries, [API], COSTS)).configurations[0]!.costs!;
  expect(api).toMatchObject({ policy: "api", present: "strict", requests: 15 });
  const strict = byName(api!.settings).get("strict")!;
  // The limit of 10 is spent by the tenth, and its reply says so.
  expect(strict).toMatchObject({ calls: 10, refused: 5 });
  expect(strict.dollars).toBeCloseTo((10 * 8) / 1_000_000, 12);
  expect(strict.perMillion).toBeCloseTo((10 * 8) / 15, 12);
});

it("a busy limit takes few calls under leased, and one each second under shared", async () => {
  const [site] = (await run(BUSY, [SITE], COSTS)).configurations[0]!.costs!;
  const [strict, leased, shared] = ["strict", "leased", "shared"].map(
    (name) => byName(site!.settings).get(name as never)!,
  );
  expect([strict!.calls, strict!.refused]).toEqual([BUSY.length, 0]);
  expect(leased!.calls).toBeLessThan(0.1 * BUSY.length);
  expect(leased!.refused).toBeLessThan(0.02 * BUSY.length);
  expect(shared!.calls).toBeGreaterThanOrEqual(50);
  expect(shared!.calls).toBeLessThanOrEqual(62);
});

it("requests that share a second in the log are spread over it", async () => {
  const whole = BUSY.map((entry) => ({ ...entry, atMs: Math.floor(entry.atMs / 1_000) * 1_000 }));
  const leased = async (entries: typeof BUSY) =>
    byName((await run(entries, [SITE], COSTS)).configurations[0]!.costs![0]!.settings).get("leased")!.calls;
  const [exact, seconds] = [await leased(BUSY), await leased(whole)];
  expect(Math.abs(seconds - exact)).toBeLessThan(0.02 * BUSY.length);
});

it("offers no setting that the policy may not have, and nothing without the option", async () => {
  const policies = [
    { name: "log", limits: [{ algorithm: "sliding-log", limit: 5, window: "1m" }] },
    { name: "once", once: "header:id", limits: [{ limit: 5, window: "1m" }] },
    { name: "short", limits: [{ limit: 5, window: "1s" }] },
  ];
  const { configurations } = await run([requestAt(0)], policies, COSTS);
  const names = configurations[0]!.costs!.map(({ settings }) => settings.map(({ consistency }) => consistency));
  expect(names).toEqual([["strict"], ["strict"], ["strict", "leased"]]);
  expect((await run([requestAt(0)], policies)).configurations[0]!.costs).toBeUndefined();
});

it("stands in the text, on the page and in the notes", async () => {
  const summary = await run(BUSY, [SITE], COSTS);
  const text = textReport(summary);
  expect(text).toMatch(/what calls cost +consistency +calls +per request +refused +dollars +per million\n/);
  expect(text).toMatch(/site +strict \(now\) +4,800 +1\.000 +0 % +0\.0384 +8\.00\n/);
  expect(text.replaceAll(/\n {2}/g, " ")).toContain("of one isolate in each region of the log");
  expect(renderReport(summary)).toContain("<caption>What calls cost</caption>");
});
