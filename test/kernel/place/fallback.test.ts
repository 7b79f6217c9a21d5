// The store stops answering. The isolate goes on from the counts that it was told, and remembers as debts what the
// store could not count.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Kind } from "../../../src/kernel/core/layout.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { type AskedKey, type Inquiry, undo } from "../../../src/kernel/place/taker.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { takerBy } from "./asking.ts";
import { farIsolate, farStore } from "./far-store.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));

const policyOf = (limit: LimitInput): PolicyInput[] => [{ name: "p", key: ["global"], limits: [limit] }];

describe.each<[string, LimitInput]>([
  ["sliding-window", { limit: 10, window: "1m" }],
  ["sliding-window, whole", { limit: 10, window: "1m", buckets: 4, oldest: "whole" }],
  ["fixed-window", { limit: 10, window: "1m", algorithm: "fixed-window" }],
  ["calendar", { limit: 10, window: "day", algorithm: "calendar", zone: "Asia/Kathmandu" }],
  ["sliding-log", { limit: 10, window: "1m", algorithm: "sliding-log" }],
  ["token-bucket", { limit: 10, window: "1m", algorithm: "token-bucket" }],
  ["leaky-bucket", { limit: 10, window: "1m", algorithm: "leaky-bucket", maxDelay: "1s" }],
])("%s", (_name, limit) => {
  it("goes on from the counts of all isolates that the store told last", async () => {
    const far = farStore();
    const [here, there] = [farIsolate(policyOf(limit), far), farIsolate(policyOf(limit), far)];
    await there.take(6);
    await here.take(1);
    far.state.failure = new StoreError("TIMEOUT");

    const answers = [];
    for (let i = 0; i < 4; i++) answers.push(await here.take());
    expect(answers.map(({ source }) => source)).toEqual(Array(4).fill("fallback"));
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    // An isolate that was told nothing about the key begins at zero and counts alone.
    const elsewhere = farIsolate(policyOf(limit), far);
    expect((await elsewhere.take(10)).allowed).toBe(true);
    expect((await elsewhere.take()).allowed).toBe(false);
  });

  it("counts what the store told until it has surely left the store", async () => {
    const { take, state } = farIsolate(policyOf(limit));
    await take(4);
    vi.advanceTimersByTime(20_000);
    const before = await take(6);
    state.failure = new StoreError("TIMEOUT");
    // Two clocks drift apart by a part of the time that passes (store-clock.ts).
    vi.advanceTimersByTime(before.resetAfterMs! * 1.001 + 100);
    expect((await take(10)).allowed).toBe(true);
    expect((await take(1)).allowed).toBe(false);
  });

  it("forgets its own counts when the store answers again: the counts of the store hold", async () => {
    const { take, peek, state } = farIsolate(policyOf(limit));
    await take(2);
    state.failure = new StoreError("TIMEOUT");
    for (let i = 0; i < 5; i++) await take();
    state.failure = undefined;
    expect(await peek()).toMatchObject({ source: "redis", remaining: 8 });
    state.failure = new StoreError("TIMEOUT");
    expect(await take(9)).toMatchObject({ allowed: false });
    expect(await take(8)).toMatchObject({ allowed: true });
  });
});

it("counts requests in flight from zero: which requests hold the slots of the store is not known", async () => {
  const { take, state } = farIsolate(policyOf({ algorithm: "concurrency", limit: 2 }));
  await take();
  await take();
  state.failure = new StoreError("OPEN");
  const held = [await take(), await take()];
  expect([...held, await take()].map(({ allowed }) => allowed)).toEqual([true, true, false]);
  await held[0]!.hold!.release();
  expect((await take()).allowed).toBe(true);
});

it("keeps a slot of its own counts for as long as it is renewed", async () => {
  const { take, state } = farIsolate(policyOf({ algorithm: "concurrency", limit: 1, timeout: "1m" }));
  state.failure = new StoreError("OPEN");
  const { hold } = await take();
  vi.advanceTimersByTime(50_000);
  await hold!.renew();
  vi.advanceTimersByTime(50_000);
  expect((await take()).allowed).toBe(false);
  vi.advanceTimersByTime(10_000);
  expect((await take()).allowed).toBe(true);
});

it.each<LimitInput>([
  { algorithm: "fixed-window", limit: 1, window: "1d" },
  { algorithm: "token-bucket", limit: 1, window: "1d" },
  { limit: 1, window: "1d" },
])("tells a wait by a clock that may drift: whoever waits as told is admitted ($algorithm)", async (limit) => {
  const { take, state } = farIsolate(policyOf(limit));
  expect((await take()).allowed).toBe(true);
  state.failure = new StoreError("OPEN");
  // The last reply refuses by itself for 5 s.
  vi.advanceTimersByTime(6_000);
  const refused = await take();
  expect(refused).toMatchObject({ allowed: false, source: "fallback" });
  vi.advanceTimersByTime(refused.retryAfterMs!);
  expect((await take()).allowed).toBe(true);
});

it("gives the repayment to the background, which keeps work alive after the answer", async () => {
  const { limiter, state } = farIsolate(policyOf({ limit: 10, window: "1h" }));
  const takes = [{ policy: limiter.policies[0]!, key: { kind: "global", values: [] }, cost: 1 }];
  /** What remains, and the number of works in the background. The call to the store is one of them. */
  const takeOne = async () => {
    const works: Promise<unknown>[] = [];
    const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
    const { remaining } = await limiter.takeMatched(takes, () => "eu", background);
    await Promise.all(works);
    return { remaining, works: works.length };
  };
  state.failure = new StoreError("OPEN");
  expect((await takeOne()).works).toBe(1);
  state.failure = undefined;
  expect((await takeOne()).works).toBe(2);
  expect(await takeOne()).toEqual({ remaining: 7, works: 1 });
});

it.each(["strict", "shared"] as const)(
  "what a reset has removed does not come back to the isolate's own counts, %s",
  async (consistency) => {
    const store: Store = { ...memoryStore(), kind: "redis", take: () => Promise.reject(new StoreError("OPEN")) };
    const taker = takerBy(store)(consistency);
    const limits = [{ kind: Kind.fixedWindow, limit: 5, windowMs: 3_600_000 }] as const;
    const request: AskedKey = { key: "k", group: 0, cost: 3, limits, syncMs: 1_000 };
    const ask: Inquiry = { lines: [{ request, onFailure: "local" }], flag: Flag.take, slot: 0 };
    const { taken } = await taker.take(ask, { isPart: true });
    await taker.reset(["k"]);
    expect((await taker.take(ask, {})).outcome).toBe("admitted");
    await undo(taken, {});
    expect((await taker.take(ask, {})).outcome).toBe("refused");
  },
);
