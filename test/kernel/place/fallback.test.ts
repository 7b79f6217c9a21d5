// The store stops answering. The isolate goes on from the counts that it was told, and remembers as debts what the
// store could not count.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../../src/limiter.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** A store for several isolates. It can be made to fail before it runs a request or after. */
function sharedStore({ clockMs = 0 } = {}) {
  const memory = memoryStore();
  const state: { failure: StoreError | undefined; runsFirst: boolean } = { failure: undefined, runsFirst: false };
  const store: Store = {
    ...memory,
    kind: "redis",
    async take(request) {
      const work = () => memory.take(request, Date.now() + clockMs);
      if (!state.failure) return await work();
      if (state.runsFirst) await work();
      throw state.failure;
    },
  };
  return { store, state };
}

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
    const { store, state } = sharedStore();
    const [here, there] = [isolate(store, policyOf(limit)), isolate(store, policyOf(limit))];
    await there.take(6);
    await here.take(1);
    state.failure = new StoreError("TIMEOUT");

    const answers = [];
    for (let i = 0; i < 4; i++) answers.push(await here.take());
    expect(answers.map(({ allowed, source }) => [allowed, source])).toEqual([
      [true, "fallback"],
      [true, "fallback"],
      [true, "fallback"],
      [false, "fallback"],
    ]);
    // An isolate that was told nothing about the key begins at zero and counts alone.
    const elsewhere = isolate(store, policyOf(limit));
    expect((await elsewhere.take(10)).allowed).toBe(true);
    expect((await elsewhere.take()).allowed).toBe(false);
  });

  it("counts what the store told until it has surely left the store", async () => {
    const { store, state } = sharedStore();
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
    const { store, state } = sharedStore();
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
    const { store, state } = sharedStore();
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
    const { store, state } = sharedStore();
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
    const { store, state } = sharedStore({ clockMs });
    const { take } = isolate(store, policyOf({ limit: 10, window: "10s", algorithm: "sliding-log" }));
    await take(10);
    state.failure = new StoreError("TIMEOUT");
    vi.advanceTimersByTime(9_900);
    expect((await take()).allowed).toBe(false);
    vi.advanceTimersByTime(200);
    expect((await take()).allowed).toBe(true);
  }
});

it("owes what `allow` let pass, and nothing of a request that was denied or only looked", async () => {
  const { store, state } = sharedStore();
  const limit: LimitInput = { limit: 10, window: "1h" };
  const { take, peek } = isolate(
    store,
    policyOf(limit, { name: "allow", onStoreFailure: "allow" }),
    policyOf({ ...limit, limit: 2 }, { name: "local" }),
  );
  state.failure = new StoreError("OPEN");
  const answers = [await peek(), await take(), await take(), await take()];
  expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
  state.failure = undefined;
  await take(0);
  await vi.waitFor(async () => expect((await peek()).limits.map(({ remaining }) => remaining)).toEqual([8, 0]));
});

it("counts requests in flight from zero: which requests hold the slots of the store is not known", async () => {
  const { store, state } = sharedStore();
  const { take } = isolate(store, policyOf({ algorithm: "concurrency", limit: 2 }));
  await take();
  await take();
  state.failure = new StoreError("OPEN");
  const held = [await take(), await take()];
  expect([...held, await take()].map(({ allowed }) => allowed)).toEqual([true, true, false]);
  await held[0]!.hold!.release();
  expect((await take()).allowed).toBe(true);
});

it("keeps what the store told of the other limits when a slot is renewed and released", async () => {
  const { store, state } = sharedStore();
  const limits: LimitInput[] = [
    { algorithm: "concurrency", limit: 2 },
    { limit: 10, window: "1h" },
  ];
  const { take } = isolate(store, { name: "p", key: ["global"], limits });
  const { hold } = await take(4);
  await hold!.renew();
  await hold!.release();
  state.failure = new StoreError("TIMEOUT");
  expect((await take(7)).allowed).toBe(false);
  expect((await take(6)).allowed).toBe(true);
});

describe.each<[string, LimitInput]>([
  ["a sliding window", { limit: 10, window: "1h" }],
  ["a sliding log", { limit: 10, window: "1h", algorithm: "sliding-log" }],
])("%s beside slots, in the second outage", (_name, limit) => {
  const slots: LimitInput = { algorithm: "concurrency", limit: 5 };

  it.each<[string, LimitInput[]]>([
    ["first", [slots, limit]],
    ["last", [limit, slots]],
  ])("goes on from a repayment, which leaves the slots out (slots %s)", async (_where, limits) => {
    const { store, state } = sharedStore();
    const { take } = isolate(store, { name: "p", key: ["global"], limits });
    state.failure = new StoreError("OPEN");
    await (await take(4)).hold!.release();
    state.failure = undefined;
    await (await take(3)).hold!.release();
    state.failure = new StoreError("OPEN");
    const second = [await take(3), await take(1)];
    expect(second.map(({ allowed, limits }) => [allowed, limits.length])).toEqual([
      [true, 2],
      [false, 2],
    ]);
  });

  it.each<[string, LimitInput[]]>([
    ["first", [slots, limit]],
    ["last", [limit, slots]],
  ])("keeps the counts when a slot of the first outage is released between them (slots %s)", async (_where, limits) => {
    const { store, state } = sharedStore();
    const { take } = isolate(store, { name: "p", key: ["global"], limits });
    state.failure = new StoreError("TIMEOUT");
    const { hold } = await take(1);
    state.failure = undefined;
    await (await take(9)).hold!.release();
    await hold!.renew();
    await hold!.release();
    state.failure = new StoreError("TIMEOUT");
    expect([await take(1), await take(1)]).toMatchObject([{ allowed: true }, { allowed: false, source: "fallback" }]);
  });
});

it("forgets the counts of a key that was reset", async () => {
  const { store, state } = sharedStore();
  const { take, limiter } = isolate(store, policyOf({ limit: 10, window: "1h", algorithm: "sliding-log" }));
  await take(10);
  await limiter.reset("p");
  state.failure = new StoreError("TIMEOUT");
  expect((await take(10)).allowed).toBe(true);
});

it("gives the repayment to the background, which keeps work alive after the answer", async () => {
  const { store, state } = sharedStore();
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
