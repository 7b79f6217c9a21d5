// Which counts are the newer ones: a refusal from memory counts what this isolate has charged above a limit, and does
// not undo what has come back.

import { expect, it, vi } from "vitest";
import type { LimitInput } from "../../../src/kernel/config/policy-input.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { farIsolate } from "./far-store.ts";
import { background, holdReplies } from "./held-replies.ts";

const held = holdReplies();

const ALGORITHMS: readonly LimitInput[] = [
  { limit: 10, window: "1m" },
  { limit: 10, window: "1m", buckets: 6, oldest: "whole" },
  { algorithm: "sliding-log", limit: 10, window: "1m" },
  { algorithm: "token-bucket", limit: 10, window: "1m" },
];

const failing = (limits: LimitInput[]) => farIsolate([{ name: "p", key: ["global"], limits }]);

it.each(ALGORITHMS.flatMap((limit) => [[limit], [limit, { ...limit, limit: 50, window: "1h" } as LimitInput]]))(
  "the wait counts an excess that this isolate has settled: %j",
  async (...limits) => {
    const { limiter, direct, state } = failing(limits);
    const reservation = await limiter.reserve("p", { cost: 8, background });
    const other = await limiter.reserve("p", { cost: 2, background });
    vi.setSystemTime(Date.now() + 15_000);
    const all = await limiter.peek("p");
    await limiter.take("p", { cost: Math.max(1, all.remaining!), background });
    expect((await limiter.take("p", { background })).allowed).toBe(false);
    const early = await limiter.take("p", { background });
    expect(early).toMatchObject({ allowed: false, source: "cache" });
    await reservation.settle(28);
    const told = await limiter.take("p", { background });
    expect(told.retryAfterMs).toBeGreaterThan(early.retryAfterMs!);
    expect(told).toMatchObject({ allowed: false, retryAfterMs: (await direct.peek("p")).retryAfterMs });
    expect(told.source).toBe("cache");

    // The reply to this charge is lost: the store is asked, because its counts are not known any more.
    Object.assign(state, { failure: new StoreError("TIMEOUT"), runsFirst: true });
    await other.settle(22);
    state.failure = undefined;
    const asked = await limiter.take("p", { background });
    expect(asked).toMatchObject({ source: "redis", retryAfterMs: (await direct.peek("p")).retryAfterMs });
  },
);

it.each(ALGORITHMS)("the wait counts a repayment: %j", async (limit) => {
  const { limiter, direct, state } = failing([limit]);
  await limiter.take("p", { cost: 5, background });
  state.failure = new StoreError("OPEN");
  expect((await limiter.take("p", { cost: 4, background })).source).toBe("fallback");
  state.failure = undefined;
  // Units that another isolate has charged meanwhile.
  vi.setSystemTime(Date.now() + 1);
  await limiter.take("p", { cost: 5, background });
  await new Promise(setImmediate);
  const told = await limiter.take("p", { background });
  expect(told).toMatchObject({ allowed: false, source: "cache", retryAfterMs: (await direct.peek("p")).retryAfterMs });
});

it.each(ALGORITHMS)("the wait counts an excess that this isolate owes: %j", async (limit) => {
  const { limiter, direct, state } = failing([limit]);
  await limiter.take("p", { cost: 5, background });
  state.failure = new StoreError("OPEN");
  const reservation = await limiter.reserve("p", { background });
  expect(reservation.decision.source).toBe("fallback");
  state.failure = undefined;
  vi.setSystemTime(Date.now() + 15_000);
  const all = await limiter.peek("p", { background });
  await new Promise(setImmediate);
  await limiter.take("p", { cost: all.remaining! - 1, background });
  expect((await limiter.take("p", { background })).allowed).toBe(false);
  const early = await limiter.take("p", { background });
  expect(early).toMatchObject({ allowed: false, source: "cache" });
  await reservation.settle(29);
  // The store does not know of the excess yet. Its answer shows that it can be told.
  expect(await limiter.take("p", { background })).toMatchObject({ allowed: false, source: "redis" });
  await new Promise(setImmediate);
  const told = await limiter.take("p", { background });
  expect(told.retryAfterMs).toBeGreaterThan(early.retryAfterMs!);
  expect(told).toMatchObject({ allowed: false, source: "cache", retryAfterMs: (await direct.peek("p")).retryAfterMs });
});

it.each<LimitInput>([
  { algorithm: "token-bucket", limit: 10, window: "100s" },
  { algorithm: "leaky-bucket", limit: 10, window: "100s", burst: 10 },
  { limit: 10, window: "100s" },
])("a refusal beside the isolate's own repayment tells the wait with it ($algorithm)", async (limit) => {
  const { limiter, direct, state } = failing([limit]);
  state.failure = new StoreError("OPEN");
  for (let i = 0; i < 8; i++) await limiter.take("p", { background });
  state.failure = undefined;
  const repaid = Promise.withResolvers<void>();
  state.repaysAfter = repaid.promise;
  // The others have used all but one unit.
  await direct.take("p", { cost: 9 });
  // The answer to the first sets the repayment off. The second was asked for before.
  const [first, refused] = await Promise.all([1, 2].map(() => limiter.take("p", { background })));
  expect([first!.allowed, refused!.allowed]).toEqual([true, false]);
  repaid.resolve();
  await new Promise(setImmediate);
  const { retryAfterMs } = await limiter.take("p", { background });
  expect(refused!.retryAfterMs).toBeGreaterThanOrEqual(retryAfterMs!);
  vi.setSystemTime(Date.now() + refused!.retryAfterMs!);
  expect((await limiter.take("p", { background })).allowed).toBe(true);
});

it.each([
  ["one after the other", false],
  ["and overtake each other", true],
])("two replies of one millisecond arrive %s: what was given back is not taken away again", async (_, isOvertaking) => {
  const limiter = held.limiterOf([{ algorithm: "fixed-window", limit: 10, window: "1d" }]);
  const reservation = await held.answered(0, limiter.reserve("a", { cost: 4, background }));
  const elsewhere = held.limiterOf([{ algorithm: "fixed-window", limit: 10, window: "1d" }]);
  await held.answered(1, elsewhere.take("a", { cost: 3, background }));
  const refused = limiter.take("a", { cost: 5, background });
  const taken = await held.nextCall(2);
  const settled = reservation.settle(1);
  const back = await held.nextCall(3);
  vi.setSystemTime(Date.now() + 20);
  // The store refuses, and gets units back in the same millisecond.
  await taken.decide();
  await back.decide();
  for (const call of isOvertaking ? [back, taken] : [taken, back]) await call.arrive();
  await settled;
  expect((await refused).allowed).toBe(false);
  const next = limiter.take("a", { cost: 5, background });
  expect(await held.decidedOrCalled(next, 4)).toBeUndefined();
  expect(await held.answered(4, next)).toMatchObject({ allowed: true, source: "redis" });
});
