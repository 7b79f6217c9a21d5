// When counts are handed on, and what happens while STATS is away. Fake time: nothing is waited for.

import { beforeEach, expect, it, vi } from "vitest";
import type { Rejected } from "../../../src/kernel/store/rejected.ts";
import type { Batch } from "../../../src/operate/stats/batch.ts";
import { batchesOf, createHandOn } from "../../../src/operate/stats/hand-on.ts";
import { Minutes } from "../../../src/operate/stats/tally.ts";

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22) }));

type Reply =
  | "confirms"
  | "loses its reply"
  | "hangs"
  | "throws"
  | "is late"
  | "is a minute late"
  | "refuses"
  | "has a bug";

/** An isolate that counts requests, and a STATS that adds each number once. */
function isolateWith(flushMs: number) {
  const startMs = Date.now();
  const counted = new Minutes();
  const added = new Map<string, Batch>();
  const state = { reply: "confirms" as Reply, sentAtMs: [] as number[], background: 0, waiting: 0 };
  const lines: string[] = [];
  const countIn = (batches: Iterable<Pick<Batch, "minutes">>) =>
    [...batches].flatMap(({ minutes }) => minutes).reduce((sum, one) => sum + (one.sums["fallback\tapi"] ?? 0), 0);

  async function send(batch: Batch): Promise<undefined | Rejected> {
    state.sentAtMs.push(Date.now() - startMs);
    const { reply } = state;
    if (reply === "throws") throw new Error("away");
    if (reply === "has a bug") throw new TypeError("a bug in STATS");
    if (reply === "refuses") return { rejected: "HeadgateStats: minutes: expected a list" };
    if (reply === "hangs") return await new Promise(() => {});
    added.set(`${batch.isolate} ${batch.number}`, structuredClone(batch));
    if (reply === "loses its reply") throw new Error("lost");
    if (reply === "is late") await new Promise((resolve) => setTimeout(resolve, 6_000));
    if (reply === "is a minute late") await new Promise((resolve) => setTimeout(resolve, 60_000));
    return undefined;
  }

  const report = (line: string) => lines.push(line);
  const handOn = createHandOn({
    collected: batchesOf(counted, () => ["a"], flushMs),
    unsent: { event: "stats-unsent" },
    refused: { event: "stats-refused" },
    ...{ flushMs, report, send },
  });
  /** Counts, and gives the flush its background. */
  function request() {
    counted.at(Date.now()).add(["fallback", "api"], 1);
    handOn({
      waitUntil(work) {
        state.background++;
        state.waiting++;
        work.finally(() => state.waiting--);
      },
    });
  }
  return {
    ...{ state, lines, request },
    /** So many requests, one each 100 ms. */
    async busy(count: number) {
      for (let i = 0; i < count; i++) {
        request();
        await pass(100);
      }
    },
    /** What STATS has added, each number once. */
    added: () => countIn(added.values()),
    batches: () => [...added.values()],
  };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

it("hands on what an isolate has counted that falls idle", async () => {
  const { request, added, state, batches } = isolateWith(5_000);
  for (let i = 0; i < 10; i++) request();
  expect(state.background).toBe(1);
  await pass(5_000);
  expect([added(), state.waiting]).toEqual([10, 0]);
  const isolate = expect.stringMatching(/^[\w-]{36}$/);
  expect(batches()).toEqual([{ isolate, number: 1, minutes: [expect.anything()], open: ["a"], openMs: 60_000 }]);
  await pass(600_000);
  expect(state.sentAtMs).toEqual([5_000]);
});

it("hands on after 20 s at the latest if no other request comes: the runtime ends waitUntil after 30 s", async () => {
  const { request, added, state } = isolateWith(30_000);
  request();
  await pass(20_000);
  expect([added(), state.sentAtMs, state.waiting]).toEqual([1, [20_000], 0]);
});

it("lets a later request take over, so that a busy isolate makes one call each STATS_FLUSH", async () => {
  const { busy, added, state } = isolateWith(30_000);
  await busy(3_000);
  expect(state.sentAtMs).toEqual(Array.from({ length: 10 }, (_, i) => expect.closeTo(30_000 + i * 30_000, -4)));
  await pass(20_000);
  expect([added(), state.waiting]).toEqual([3_000, 0]);
  // Each flush has had two requests that waited for it.
  expect(state.background).toBeLessThanOrEqual(21);
});

it.each<[Reply, number]>([
  ["loses its reply", 5_000],
  // An exception says nothing about the batch.
  ["throws", 5_000],
  ["has a bug", 5_000],
  ["hangs", 5_000],
  ["is late", 5_000],
  ["is a minute late", 5_000],
  ["throws", 30_000],
  ["hangs", 30_000],
])("counts each request once although STATS %s for a minute, with STATS_FLUSH %i ms", async (reply, flushMs) => {
  const { busy, added, state, lines } = isolateWith(flushMs);
  state.reply = reply;
  await busy(600);
  state.reply = "confirms";
  await busy(600);
  await pass(35_000);
  expect([added(), state.waiting]).toEqual([1_200, 0]);
  if (reply !== "is late") expect(lines.map((line) => JSON.parse(line).event)).toEqual(["stats-unsent"]);
});

it("gives up a batch that STATS refuses for good, says so, and hands on what comes after it", async () => {
  const { request, state, added, batches, lines } = isolateWith(5_000);
  state.reply = "refuses";
  request();
  await pass(5_000);
  state.reply = "confirms";
  request();
  request();
  await pass(600_000);
  expect([state.sentAtMs, batches().map(({ number }) => number), added()]).toEqual([[5_000, 10_000], [2], 2]);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { event: "stats-refused", at: expect.anything(), reason: expect.stringContaining("minutes") },
  ]);
});

it("says for how long a breaker is to count as open: until after the next flush", async () => {
  const { request, batches } = isolateWith(3_600_000);
  request();
  await pass(20_000);
  expect(batches()).toMatchObject([{ open: ["a"], openMs: 3_630_000 }]);
});

it("makes one call at a time, and waits 5 s for it", async () => {
  const { busy, state } = isolateWith(1_000);
  state.reply = "hangs";
  await busy(200);
  for (const [i, at] of state.sentAtMs.slice(1).entries())
    expect(at - state.sentAtMs[i]!).toBeGreaterThanOrEqual(5_000);
  expect(state.sentAtMs.length).toBeGreaterThan(1);
});

it("hands on when the request that waited was ended by the runtime", async () => {
  const { request, added } = isolateWith(5_000);
  request();
  // Its timers never fire.
  vi.clearAllTimers();
  await pass(5_500);
  request();
  expect(added()).toBe(0);
  await pass(1_000);
  request();
  await pass(0);
  expect(added()).toBe(3);
});

it.each([-3_600_000, 3_600_000])("keeps handing on after the clock was set by %i ms", async (stepMs) => {
  const { request, added } = isolateWith(5_000);
  request();
  vi.setSystemTime(Date.now() + stepMs);
  request();
  await pass(25_000);
  expect(added()).toBe(2);
});
