// Who is warned of which client, and how often. test/worker/alerts.test.ts has what the object makes of it.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Crossing, findWarnings, MAX_SUBJECTS } from "../../../src/features/alerts/warnings.ts";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import type { LimiterOptions, LimitWarning, TakeOptions } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter, limiterOf } from "../../support/limiter.ts";
import { matchedBy } from "../../support/matched.ts";
import { checkedPolicies } from "../live/policies.ts";

/** The beginning of an hour. */
const START_MS = Date.UTC(2026, 10, 22, 10);
const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START_MS }));
const later = (ms: number) => vi.setSystemTime(Date.now() + ms);

const HOUR: LimitInput = { algorithm: "fixed-window", limit: 10, window: "1h" };
const api = (more: Partial<PolicyInput> = {}): PolicyInput => ({
  ...{ name: "api", key: "header:x-user", limits: [HOUR], warn: [0.8, 0.95] },
  ...more,
});

/** A limiter that notes its warnings in short. */
function limiterWith(policies: readonly PolicyInput[], options: Partial<LimiterOptions> = {}) {
  const warnings: LimitWarning[] = [];
  const limiter = createLimiter({
    ...{ policies, store: memoryStore(), keySecret: "sixteen letters!" },
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  return {
    ...{ limiter, warnings },
    async take(times: number, more: TakeOptions = {}, policy = policies[0]!.name) {
      for (let i = 0; i < times; i++) await limiter.take(policy, { key: "ann", ...more });
    },
    /** The id, the part and the units of each, and no more of them. */
    told: () => warnings.splice(0).map(({ id, part, used }) => `${id} ${part} ${used}`),
  };
}

it("warns once for each part, and says who, of what, and until when", async () => {
  const { take, warnings } = limiterWith([api()]);
  later(5 * MINUTE_MS);
  await take(7);
  expect(warnings).toEqual([]);
  await take(2);
  const at = "2026-11-22T10:05:00.000Z";
  const key = expect.stringMatching(/^[\w-]{22}$/);
  const about = { policy: "api", id: "api", kind: "key", key, limit: 10, resetAfterMs: 55 * MINUTE_MS, at };
  expect(warnings).toEqual([{ ...about, part: 0.8, used: 8 }]);
  await take(5);
  expect(warnings).toEqual([
    { ...about, part: 0.8, used: 8 },
    { ...about, part: 0.95, used: 10 },
  ]);
});

it.each<[string, LimitInput, warnsAgainAfterMs: number]>([
  ["fixed window", HOUR, 60 * MINUTE_MS],
  ["calendar", { algorithm: "calendar", limit: 10, window: "day" }, 14 * 60 * MINUTE_MS],
  ["sliding window: once in each bucket", { limit: 10, window: "1h", buckets: 4, oldest: "whole" }, 15 * MINUTE_MS],
  ["sliding log", { algorithm: "sliding-log", limit: 10, window: "1h" }, 60 * MINUTE_MS],
  ["token bucket: its refill", { algorithm: "token-bucket", limit: 10, window: "1h", burst: 5 }, 30 * MINUTE_MS],
  ["leaky bucket", { algorithm: "leaky-bucket", limit: 10, window: "1h", maxDelay: "1s" }, 60 * MINUTE_MS],
])("%s: warns again when the next window has begun", async (_, limit, againAfterMs) => {
  const { take, told } = limiterWith([api({ limits: [limit], warn: 0.1 })]);
  await take(2);
  expect(told()).toHaveLength(1);
  later(againAfterMs - 1);
  await take(1);
  expect(told()).toHaveLength(0);
  later(1);
  await take(1);
  expect(told()).toHaveLength(1);
});

it("reaches a part exactly where it is: 0.07 of 100 are 7", async () => {
  const { take, told } = limiterWith([api({ limits: [{ ...HOUR, limit: 100 }], warn: [0.07, 0.29, 1] })]);
  await take(6);
  expect(told()).toEqual([]);
  await take(1);
  expect(told()).toEqual(["api 0.07 7"]);
  await take(1, { cost: 93 });
  expect(told()).toEqual(["api 0.29 100", "api 1 100"]);
});

it("each client, limit and policy by itself; policies without warn never", async () => {
  const limits = [HOUR, { limit: 20, window: "1d" }] as const;
  const { take, told } = limiterWith([api({ limits }), api({ name: "other", limits: [HOUR], warn: undefined })]);
  await take(8, { key: "bob" });
  await take(8);
  await take(8, {}, "other");
  expect(told()).toEqual(["api-1 0.8 8", "api-1 0.8 8"]);
  later(60 * MINUTE_MS);
  await take(8);
  expect(told()).toEqual(["api-1 0.8 8", "api-2 0.8 16"]);
});

it("counts with the numbers that hold for the client: those of its plan, or its own", async () => {
  const { take, told } = limiterWith([api({ plans: { pro: { api: 100 } }, warn: 0.8 })]);
  await take(1, { cost: 79, plan: "pro" });
  expect(told()).toEqual([]);
  await take(1, { plan: "pro" });
  await take(4, { key: "bob", limits: { api: 5 } });
  expect(told()).toEqual(["api 0.8 80", "api 0.8 4"]);
});

describe("says nothing of", () => {
  it("a refusal, a peek, a request of cost 0, and a repeat", async () => {
    const { limiter, take, told } = limiterWith([api({ once: "header:idempotency-key", warn: 0.5 })]);
    await limiter.peek("api", { key: "ann", cost: 10 });
    await take(1, { cost: 11 });
    await take(4, { once: "same" });
    await take(1, { cost: 8, key: "bob", once: "x" });
    expect(told()).toEqual(["api 0.5 8"]);
    await take(1, { cost: 0 });
    await take(1, { cost: 8, key: "bob", once: "x" });
    expect(told()).toEqual([]);
  });

  it("preflights, which take nothing from what a client has left", async () => {
    const warnings: Crossing[] = [];
    const onDecision = findWarnings({ tell: (one) => warnings.push(one), leaveOut() {} });
    const limiter = limiterOf(checkedPolicies([api({ warn: 0.1 })]), { store: memoryStore(), onDecision });
    const [policy] = limiter.policies;
    const take = { policy: policy!, key: { kind: "ip", values: ["203.0.113.7"] }, cost: 5 };
    await limiter.takeMatched([{ ...take, isPreflight: true }], () => "eu");
    expect(warnings).toEqual([]);
    await limiter.takeMatched([take], () => "eu");
    expect(warnings).toMatchObject([{ endsAtMs: START_MS + 60 * MINUTE_MS, warning: { used: 5 } }]);
  });
});

it("of a chain, warns of the policy that pays", async () => {
  const policies = [
    api({ name: "plan", limits: [{ ...HOUR, limit: 5 }], overflow: "team", warn: [0.8, 1] }),
    api({ name: "team", warn: 0.2 }),
  ];
  const { limiter, told } = limiterWith(policies);
  const { take } = matchedBy(limiter);
  const [plan, team] = ["plan", "team"].map((policy) => ({ policy, key: "ann" }));
  for (let i = 0; i < 8; i++) await take([plan!, team!]);
  expect(told()).toEqual(["plan 0.8 4", "plan 1 5", "team 0.2 2"]);
});

it("warns of a policy in shadow too, also when it would refuse", async () => {
  const { take, told } = limiterWith([api({ mode: "shadow" })]);
  await take(20);
  expect(told()).toEqual(["api 0.8 8", "api 0.95 10"]);
});

it("a reservation counts until it is settled, and leased units as soon as they are taken", async () => {
  const { limiter, told } = limiterWith([api({ limits: [{ ...HOUR, limit: 100 }], warn: 0.8 })]);
  const reservation = await limiter.reserve("api", { key: "ann", cost: 80 });
  await reservation.settle(1);
  expect(told()).toEqual(["api 0.8 80"]);
  const leased = limiterWith([api({ limits: [{ limit: 100, window: "1h" }], consistency: "leased", warn: 0.8 })]);
  await leased.take(100, { background: { waitUntil: () => {} } });
  const [first, ...more] = leased.told();
  expect([first, more]).toEqual([expect.stringMatching(/^api 0\.8 (8\d|9\d|100)$/), []]);
});

it("over several places, and from the isolate's own counts while the store is down", async () => {
  const split = limiterWith([api({ warn: 0.8 })], {
    store: splitStore([memoryStore(), memoryStore()], (key) => key.length % 2),
  });
  await split.take(10);
  await split.take(10, { key: "bob" });
  expect(split.told()).toEqual(["api 0.8 8", "api 0.8 8"]);
  const failing: Store = { ...memoryStore(), kind: "redis", take: () => Promise.reject(new StoreError("NETWORK")) };
  const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  const down = limiterWith([api({ warn: 0.8 })], { store: failing });
  await down.take(10);
  expect(down.told()).toEqual(["api 0.8 8"]);
  // Whoever has no onDecision hears of outages all the same.
  expect(warned).toHaveBeenCalledWith(expect.stringContaining('"event":"store-failure"'));
  const allowing = limiterWith([api({ warn: 0.8, onStoreFailure: "allow" })], { store: failing });
  await allowing.take(10);
  expect(allowing.told()).toEqual([]);
});

it("counts nothing as used that an instance leaves to the others while the store is down", async () => {
  const memory = memoryStore();
  const state = { isDown: false };
  const far: Store = {
    ...{ ...memory, kind: "redis" },
    take: (...asked) => (state.isDown ? Promise.reject(new StoreError("OPEN")) : memory.take(...asked)),
  };
  const policies = [api({ limits: [{ ...HOUR, limit: 1_000 }], consistency: "leased", warn: 0.5 })];
  const instance = () => limiterWith(policies, { store: withIsolate(far), onDecision: [] });
  const all = [instance(), instance(), instance()];
  const background = { waitUntil: () => {} };
  const round = async (times: number) => {
    for (let i = 0; i < times; i++) for (const { take } of all) await take(1, { background });
  };
  const told = () => all.map((one) => one.told().join());
  for (let i = 0; i < 50; i++) {
    await round(1);
    later(200);
  }
  state.isDown = true;
  await round(50);
  expect(told()).toEqual(["", "", ""]);
  // Of the next window all is its own.
  later(60 * MINUTE_MS);
  await round(500);
  expect(told()).toEqual(new Array(3).fill("api 0.5 500"));
});

it("a clock that steps back warns of no window twice", async () => {
  const { take, told } = limiterWith([api({ warn: 0.8 })]);
  await take(8);
  later(60 * MINUTE_MS);
  await take(8);
  expect(told()).toHaveLength(2);
  later(-90 * MINUTE_MS);
  await take(2);
  later(90 * MINUTE_MS);
  await take(2);
  expect(told().length).toBeLessThanOrEqual(1);
});

it("remembers 10,000 subjects; beyond that it leaves out, and counts, until windows have ended", async () => {
  let [told, leftOut] = [0, 0];
  const onDecision = findWarnings({ tell: () => told++, leaveOut: () => leftOut++ });
  let heard: Parameters<typeof onDecision> | undefined;
  const limiter = limiterOf(checkedPolicies([api({ warn: 0.1 })]), {
    store: memoryStore(),
    onDecision: (...decided) => {
      heard = decided;
    },
  });
  await limiter.take("api", { key: "ann" });
  const [decision, { takes }] = heard!;
  const fill = (count: number) => {
    for (let i = 0; i < count; i++) {
      onDecision(decision, { region: "eu", atMs: Date.now(), takes: [{ ...takes[0]!, partition: `client ${i}` }] });
    }
  };
  fill(MAX_SUBJECTS + 50);
  fill(100);
  expect([told, leftOut]).toEqual([MAX_SUBJECTS, 50]);
  later(60 * MINUTE_MS);
  fill(100);
  expect([told, leftOut]).toEqual([MAX_SUBJECTS + 100, 50]);
});

it("what onWarning throws or rejects with is reported, and the decision stands; its promise is kept alive", async () => {
  const reported = vi.spyOn(console, "error").mockImplementation(() => {});
  const kept: Promise<unknown>[] = [];
  let calls = 0;
  const { limiter } = limiterWith([api({ warn: [0.1, 0.2] })], {
    onWarning() {
      if (++calls === 1) throw new Error("thrown");
      return Promise.reject(new Error("rejected"));
    },
  });
  const background = { waitUntil: (work: Promise<unknown>) => void kept.push(work) };
  for (let i = 0; i < 3; i++) expect((await limiter.take("api", { key: "ann", background })).allowed).toBe(true);
  await Promise.all(kept);
  expect(calls).toBe(2);
  const about = (message: string) => ["headgate: onWarning threw", expect.objectContaining({ message })];
  expect(reported.mock.calls).toEqual([about("thrown"), about("rejected")]);
});

it("onWarning is a function", () => {
  expect(() => limiterWith([api()], { onWarning: [] as never })).toThrow(/onWarning: expected function/);
});
