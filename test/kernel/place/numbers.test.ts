// Clients with different numbers under one key: what an isolate knows is used only with the numbers that it was told
// for. With other numbers the store is asked.

import { beforeEach, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import type { TakeOptions } from "../../../src/limiter.ts";
import { farIsolate } from "./far-store.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));

/** An isolate whose policy has a plan for each of these numbers. */
function setUp(limit: LimitInput, numbers: Record<string, number>, more: Partial<PolicyInput> = {}) {
  const plans = Object.fromEntries(Object.entries(numbers).map(([plan, number]) => [plan, { api: number }]));
  return farIsolate([{ name: "api", key: "global", limits: [limit], plans, ...more }]);
}

const ALGORITHMS: [string, LimitInput][] = [
  ["sliding-window", { limit: 4, window: "1m" }],
  ["sliding-window, whole", { limit: 4, window: "1m", buckets: 4, oldest: "whole" }],
  ["fixed-window", { algorithm: "fixed-window", limit: 4, window: "1m" }],
  ["sliding-log", { algorithm: "sliding-log", limit: 4, window: "1m" }],
  ["token-bucket", { algorithm: "token-bucket", limit: 4, window: "1m" }],
  ["leaky-bucket", { algorithm: "leaky-bucket", limit: 4, window: "1m", maxDelay: "1s" }],
  ["concurrency", { algorithm: "concurrency", limit: 4 }],
];

it.each(ALGORITHMS)("%s: every request gets the answer of the store for its own numbers", async (_, limit) => {
  const [one, other] = [setUp(limit, { pro: 7, team: 9 }), setUp(limit, { pro: 7, team: 9 })];
  const plans = ["free", "pro", "free", "team", "pro"];
  for (let i = 0; i < 60; i++) {
    vi.setSystemTime(NOW_MS + 200 * i);
    const own: TakeOptions = { plan: plans[i % plans.length]!, cost: 1 + (i % 2) };
    const [isolate, store] = [await one.limiter.take("api", own), await other.direct.take("api", own)];
    expect([i, isolate.allowed]).toEqual([i, store.allowed]);
  }
});

it("a remembered refusal answers requests with the same numbers only", async () => {
  const { limiter, state } = setUp({ algorithm: "fixed-window", limit: 2, window: "1m" }, { pro: 4, also: 2 });
  const take = async (plan?: string) => {
    const { allowed, source } = await limiter.take("api", plan === undefined ? {} : { plan });
    return [allowed, source];
  };
  for (let i = 0; i < 2; i++) expect(await take()).toEqual([true, "redis"]);
  expect(await take()).toEqual([false, "cache"]);
  // Another plan with the same number.
  expect(await take("also")).toEqual([false, "cache"]);
  expect(await take("pro")).toEqual([true, "redis"]);
  expect(await take()).toEqual([false, "redis"]);
  expect(await take()).toEqual([false, "cache"]);
  expect(await take("pro")).toEqual([true, "redis"]);
  expect(await take("pro")).toEqual([false, "cache"]);
  expect(state.flags.length).toBe(5);
});

it("leased units are spent with the numbers that they were taken with, each number has its own, also in an outage", async () => {
  const plans = { pro: 2_000_000, few: 100 };
  const { limiter, state } = setUp({ limit: 1_000_000, window: "1d" }, plans, { consistency: "leased" });
  const background = { waitUntil() {} };
  const sources = async (plan: string, takes = 1) => {
    const all: string[] = [];
    for (let i = 0; i < takes; i++) all.push((await limiter.take("api", { plan, background })).source);
    return all;
  };
  await sources("free", 200);
  expect(await sources("free")).toEqual(["lease"]);
  const [first, ...later] = await sources("pro", 200);
  expect([first, later.at(-1)]).toEqual(["redis", "lease"]);
  const before = state.flags.length;
  // Both have units in stock now, and requests in turns spend them.
  for (let i = 0; i < 10; i++)
    expect([...(await sources("free")), ...(await sources("pro"))]).toEqual(["lease", "lease"]);
  expect(state.flags.length - before).toBeLessThan(10);
  state.failure = new StoreError("OPEN");
  expect(await sources("free")).toEqual(["lease"]);
  // The isolate counts other numbers itself. More than 100 are counted already.
  expect(await limiter.take("api", { plan: "few", background })).toMatchObject({ allowed: false, source: "fallback" });
  expect(await sources("free")).toEqual(["lease"]);
});

it.each(ALGORITHMS.filter(([name]) => name !== "concurrency"))(
  "%s: in an outage all requests are counted together, and each is held to its own number",
  async (_, limit) => {
    const { limiter, state, direct } = setUp({ ...limit, limit: 3 } as LimitInput, { pro: 6 });
    const take = async (plan: string) => {
      const { allowed, source } = await limiter.take("api", { plan });
      return [allowed, source];
    };
    expect(await take("pro")).toEqual([true, "redis"]);
    state.failure = new StoreError("OPEN");
    const plans = ["free", "free", "free", "pro", "pro", "free", "pro", "pro"];
    const outcomes = [];
    for (const plan of plans) outcomes.push(await take(plan));
    const allowed = [true, true, false, true, true, false, true, false];
    expect(outcomes).toEqual(allowed.map((one) => [one, "fallback"]));
    // What the store has missed is charged when it answers again: all six, although the smaller number is 3.
    state.failure = undefined;
    await limiter.peek("api", { plan: "pro" });
    await vi.waitFor(async () => expect((await direct.peek("api", { plan: "pro" })).limits[0]!.remaining).toBe(0));
    expect((await direct.peek("api", { plan: "pro", cost: 1 })).allowed).toBe(false);
  },
);
