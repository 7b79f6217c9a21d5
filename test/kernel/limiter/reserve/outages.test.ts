// The store has no answer when a reservation is made, or when it is settled.

import { beforeEach, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../../src/kernel/store/store.ts";
import { createLimiter, type Limiter } from "../../../../src/limiter.ts";
import { farIsolate } from "../../place/far-store.ts";

/** In the middle of a bucket: an isolate knows the clock of the store to a few milliseconds. */
const NOW_MS = 1_700_000_045_000;
const minute = { limit: 1_000, window: "1m", buckets: 6 } as const;
const tokens = (more: Partial<PolicyInput> = {}): PolicyInput => ({
  name: "tokens",
  key: ["global"],
  limits: [minute],
  ...more,
});
const flight: PolicyInput = {
  name: "flight",
  key: ["global"],
  limits: [{ algorithm: "concurrency", limit: 2, timeout: "30s" }],
};

/**
 * `known`: the isolate knows that the call did not run. `lost`: it did not run, and nobody knows. `ran`: it ran, and
 * its reply is lost. `late`: it ran, and its reply comes when `arrive` is called.
 */
type Fault = "known" | "lost" | "ran" | "late";

function setUp(...policies: PolicyInput[]) {
  const { state, limiter, memory, take, background } = farIsolate(policies);
  const itself = createLimiter({ policies, store: memory });
  const late = Promise.withResolvers<void>();
  const names = policies.map(({ name }) => ({ policy: name }));
  const fail = (by?: Fault) => {
    state.flags.length = 0;
    state.failure = by && (by === "known" ? new StoreError("NETWORK", "READONLY") : new StoreError("TIMEOUT"));
    state.runsFirst = by === "ran" || by === "late";
    state.arrives = by === "late" ? late.promise : undefined;
  };
  const look = async (at: Pick<Limiter, "peek">) => {
    const { limits } = await at.peek(names);
    return Object.fromEntries(limits.map(({ limit, remaining }) => [limit.id, remaining]));
  };
  return {
    limiter,
    fail,
    arrive: late.resolve,
    calls: () => state.flags.length,
    reserve: (cost: number) => limiter.reserve(names, { cost, background }),
    /** Another request, after which debts and slots are told to the store. It costs nothing. */
    tell: () => take(0),
    /** What is left at the store. */
    atStore: () => look(itself),
    /** What is left by the isolate's own counters. */
    async here() {
      const before = { ...state };
      fail("known");
      const left = await look(limiter);
      Object.assign(state, before);
      return left;
    },
  };
}

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));

interface Outage {
  /** What the store does with the calls of the reservation of 100, and with those that settle it. */
  readonly reserving?: Fault;
  readonly settling?: Fault;
  readonly used: number;
  readonly onStoreFailure?: "allow";
  /** What is left then of 1,000: by the isolate's own counters, and at the store; and there after the outage. */
  readonly here?: number;
  readonly atStore?: number;
  readonly after: number;
}

it.each<[what: string, outage: Outage]>([
  ["what was used is owed", { reserving: "known", settling: "known", used: 30, here: 970, atStore: 1_000, after: 970 }],
  ["also an excess", { reserving: "known", settling: "known", used: 250, here: 750, atStore: 1_000, after: 750 }],
  ["and under allow", { reserving: "known", settling: "known", used: 40, onStoreFailure: "allow", after: 960 }],
  ["units that may have been charged lapse with their window", { reserving: "ran", used: 30, after: 900 }],
  ["an excess that was not charged is charged later", { settling: "known", used: 250, here: 750, after: 750 }],
  ["one that may be is never sent again: it was not", { settling: "lost", used: 250, here: 750, after: 900 }],
  ["one that may be is never sent again: it was", { settling: "ran", used: 250, here: 750, after: 750 }],
  ["units that were not given back go back later", { settling: "known", used: 20, here: 980, after: 980 }],
  ["those that may be never do again: they were not", { settling: "lost", used: 20, after: 900 }],
  ["those that may be never do again: they were", { settling: "ran", used: 20, after: 980 }],
])("%s: %j", async (_, { reserving, settling, used, onStoreFailure, here, atStore, after }) => {
  const isolate = setUp(tokens({ ...(onStoreFailure && { onStoreFailure }) }));
  isolate.fail(reserving);
  const reservation = await isolate.reserve(100);
  expect([reservation.decision.source, reservation.reserved]).toEqual([
    reserving ? "fallback" : "redis",
    { tokens: 100 },
  ]);
  isolate.fail(settling);
  await reservation.settle(used);
  if (here !== undefined) expect(await isolate.here()).toEqual({ tokens: here });
  if (atStore !== undefined) expect(await isolate.atStore()).toEqual({ tokens: atStore });
  isolate.fail();
  for (const _ of [1, 2]) {
    await isolate.tell();
    expect(await isolate.atStore()).toEqual({ tokens: after });
  }
});

it.each([
  [30, 900],
  [150, 850],
])("a debt that was repaid meanwhile stays, and an excess is owed after it: %i used", async (used, left) => {
  const { reserve, fail, atStore, tell } = setUp(tokens());
  fail("known");
  const reservation = await reserve(100);
  fail();
  await tell();
  await reservation.settle(used);
  await tell();
  expect(await atStore()).toEqual({ tokens: left });
});

it("only its own part of a debt is owed no more", async () => {
  const { reserve, fail, atStore, tell } = setUp(tokens());
  fail("known");
  const [first, second] = [await reserve(100), await reserve(200)];
  await first.release();
  await second.settle(150);
  fail();
  await tell();
  expect(await atStore()).toEqual({ tokens: 850 });
});

it.each([
  [30, 970],
  [250, 750],
])("a late reply shows that the store has charged: %i of 100 are settled there", async (used, left) => {
  const { reserve, fail, arrive, atStore, tell } = setUp(tokens());
  fail("late");
  const reservation = await reserve(100);
  fail();
  const settled = reservation.settle(used);
  expect(await atStore()).toEqual({ tokens: 900 });
  vi.setSystemTime(NOW_MS + 12_000);
  arrive();
  await settled;
  await tell();
  expect(await atStore()).toEqual({ tokens: left });
});

it.each([
  ["that the store may have given goes back with the rest", "ran", undefined, 2],
  ["is given back later", undefined, "known", 1],
] as const)("a slot %s", async (_, reserving, settling, free) => {
  const { reserve, fail, atStore, here, calls, tell } = setUp(tokens(), flight);
  fail(reserving);
  const reservation = await reserve(100);
  fail(settling);
  await reservation.settle({ tokens: 100 });
  expect([await atStore(), calls()]).toEqual([{ tokens: 900, flight: free }, 1]);
  fail();
  await tell();
  expect(await atStore()).toEqual({ tokens: 900, flight: 2 });
  expect((await here()).flight).toBe(2);
});

it("is extended by the isolate's own counters while the store is away", async () => {
  const { reserve, fail, here, atStore, tell } = setUp(tokens());
  const reservation = await reserve(400);
  fail("known");
  expect(await reservation.extend({ tokens: 500 })).toMatchObject({
    allowed: true,
    source: "fallback",
    remaining: 100,
  });
  expect((await reservation.extend({ tokens: 101 })).allowed).toBe(false);
  fail();
  await reservation.settle(600);
  expect((await here()).tokens).toBe(400);
  await tell();
  expect(await atStore()).toEqual({ tokens: 400 });
});

it("a store of one's own that fails rejects nothing", async () => {
  const memory = memoryStore();
  let isAway = false;
  const take: Store["take"] = (request) => (isAway ? Promise.reject(new StoreError("NETWORK")) : memory.take(request));
  const limiter = createLimiter({ policies: [tokens()], store: { ...memory, take }, onDecision() {} });
  const reservation = await limiter.reserve("tokens", { cost: 100 });
  isAway = true;
  await reservation.settle(50);
  const here = await limiter.reserve("tokens", { cost: 300 });
  await here.settle(20);
  expect((await limiter.peek("tokens")).remaining).toBe(980);
});
