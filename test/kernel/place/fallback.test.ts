// The store stops answering. The isolate goes on from the counts that it was told, and remembers as debts what the
// store could not count.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Kind } from "../../../src/kernel/core/layout.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { type AskedKey, type Inquiry, undo } from "../../../src/kernel/place/taker.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { takerBy } from "./asking.ts";
import { farStore } from "./far-store.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const policyOf = (limit: LimitInput, more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name: "p", key: ["global"], limits: [limit], ...more };
};
const isolate = (store: Store, ...policies: PolicyInput[]) => {
  const limiter = createLimiter({ policies, store: withIsolate(store) });
  const names = policies.map(({ name }) => ({ policy: name }));
  return { limiter, take: (cost = 1) => limiter.take(names, { cost }), peek: () => limiter.peek(names) };
};

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
    const { store, state } = farStore();
    const [here, there] = [isolate(store, policyOf(limit)), isolate(store, policyOf(limit))];
    await there.take(6);
    await here.take(1);
    state.failure = new StoreError("TIMEOUT");

    const answers = [];
    for (let i = 0; i < 4; i++) answers.push(await here.take());
    expect(answers.map(({ source }) => source)).toEqual(Array(4).fill("fallback"));
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    // An isolate that was told nothing about the key begins at zero and counts alone.
    const elsewhere = isolate(store, policyOf(limit));
    expect((await elsewhere.take(10)).allowed).toBe(true);
    expect((await elsewhere.take()).allowed).toBe(false);
  });

  it("counts what the store told until it has surely left the store", async () => {
    const { store, state } = farStore();
    const { take } = isolate(store, policyOf(limit));
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
    const { store, state } = farStore();
    const { take, peek } = isolate(store, policyOf(limit));
    await take(2);
    state.failure = new StoreError("TIMEOUT");
    for (let i = 0; i < 5; i++) await take();
    state.failure = undefined;
    expect(await peek()).toMatchObject({ source: "redis", remaining: 8 });
    state.failure = new StoreError("TIMEOUT");
    expect(await take(9)).toMatchObject({ allowed: false });
    expect(await take(8)).toMatchObject({ allowed: true });
  });

  it("charges what the store is known not to have counted, once", async () => {
    const { store, state } = farStore();
    const { take, peek } = isolate(store, policyOf(limit));
    await take(2);
    state.failure = new StoreError("OPEN");
    for (let i = 0; i < 3; i++) await take();
    state.failure = undefined;
    await take(0);
    await vi.waitFor(async () => expect((await peek()).remaining).toBe(5));
    for (let i = 0; i < 3; i++) expect((await peek()).remaining).toBe(5);
  });

  it("charges nothing again that may have run", async () => {
    const { store, state } = farStore();
    const { take, peek } = isolate(store, policyOf(limit));
    state.failure = new StoreError("TIMEOUT");
    state.runsFirst = true;
    for (let i = 0; i < 3; i++) await take();
    state.failure = undefined;
    for (let i = 0; i < 3; i++) expect((await peek()).remaining).toBe(7);
  });
});

it("goes by the store's clock, whatever the isolate's own clock says", async () => {
  for (const clockMs of [-30_000, 30_000]) {
    const { store, state } = farStore({ clockMs });
    const { take } = isolate(store, policyOf({ limit: 10, window: "10s", algorithm: "sliding-log" }));
    await take(10);
    state.failure = new StoreError("TIMEOUT");
    vi.advanceTimersByTime(9_900);
    expect((await take()).allowed).toBe(false);
    vi.advanceTimersByTime(200);
    expect((await take()).allowed).toBe(true);
  }
});

it("counts requests in flight from zero: which requests hold the slots of the store is not known", async () => {
  const { store, state } = farStore();
  const { take } = isolate(store, policyOf({ algorithm: "concurrency", limit: 2 }));
  await take();
  await take();
  state.failure = new StoreError("OPEN");
  const held = [await take(), await take()];
  expect([...held, await take()].map(({ allowed }) => allowed)).toEqual([true, true, false]);
  await held[0]!.hold!.release();
  expect((await take()).allowed).toBe(true);
});

it("keeps a slot of its own counts for as long as it is renewed", async () => {
  const { store, state } = farStore();
  const { take } = isolate(store, policyOf({ algorithm: "concurrency", limit: 1, timeout: "1m" }));
  state.failure = new StoreError("OPEN");
  const { hold } = await take();
  vi.advanceTimersByTime(50_000);
  await hold!.renew();
  vi.advanceTimersByTime(50_000);
  expect((await take()).allowed).toBe(false);
  vi.advanceTimersByTime(10_000);
  expect((await take()).allowed).toBe(true);
});

it("gives the repayment to the background, which keeps work alive after the answer", async () => {
  const { store, state } = farStore();
  const { limiter } = isolate(store, policyOf({ limit: 10, window: "1h" }));
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
