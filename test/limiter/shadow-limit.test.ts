// `shadowLimit`: what another number would have decided by the same counts. The oracle is a look at the same store with
// that number, just before the take.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LimitInput } from "../../src/config/policy-input.ts";
import type { PolicyInput } from "../../src/config/policy-schema.ts";
import type { ShadowLimitBase } from "../../src/core/named.ts";
import { logDecisions } from "../../src/http/log.ts";
import { withIsolate } from "../../src/isolate/isolate.ts";
import { createLimiter, type LimiterOptions } from "../../src/limiter.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { type Store, StoreError } from "../../src/store/store.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const limiterOf = (policies: PolicyInput[], store: Store = memoryStore(), more: Partial<LimiterOptions> = {}) =>
  createLimiter({ policies, store, onDecision() {}, ...more });

const apiWith = (limit: LimitInput, more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name: "api", key: "global", limits: [limit], ...more };
};

/** A limit that can have a `shadowLimit`. */
type Shadowed = Extract<LimitInput, ShadowLimitBase>;

describe.each<[string, Shadowed]>([
  ["sliding-window", { limit: 6, shadowLimit: 4, window: "1m" }],
  ["a larger sliding-window", { limit: 6, shadowLimit: 8, window: "1m" }],
  ["sliding-window, whole", { limit: 6, shadowLimit: 4, window: "1m", buckets: 4, oldest: "whole" }],
  ["fixed-window", { algorithm: "fixed-window", limit: 6, shadowLimit: 4, window: "1m" }],
  ["sliding-log", { algorithm: "sliding-log", limit: 6, shadowLimit: 4, window: "1m" }],
  ["concurrency", { algorithm: "concurrency", limit: 6, shadowLimit: 4 }],
  ["calendar", { algorithm: "calendar", limit: 6, shadowLimit: 4, window: "day" }],
])("under %s", (_, limit) => {
  const number = Number(limit.shadowLimit);

  it.each<["enforce" | "shadow"]>([["enforce"], ["shadow"]])(
    "in mode %s, is what a look with that number says",
    async (mode) => {
      // Another policy refuses some of the requests: those are not charged.
      const site: PolicyInput = { name: "site", key: "global", limits: [{ limit: 2, window: "5s" }] };
      const store = memoryStore();
      const limiter = limiterOf([apiWith(limit, { mode }), site], store);
      const oracle = limiterOf([apiWith(limit), site], store);
      const seen = new Set<boolean>();
      for (let i = 0; i < 90; i++) {
        vi.setSystemTime(NOW_MS + 1_700 * i);
        const cost = [1, 2, 1, 5, 3][i % 5]!;
        const takes = i % 3 === 0 ? [{ policy: "api" }, { policy: "site" }] : [{ policy: "api" }];
        const expected = (await oracle.peek("api", { cost, limits: { api: number } })).allowed;
        const looked = await limiter.peek(takes, { cost });
        const taken = await limiter.take(takes, { cost });
        for (const { limits, shadow } of [looked, taken]) {
          const [own] = mode === "enforce" ? limits : shadow;
          expect([i, own!.shadowLimit]).toEqual([i, { limit: number, admitted: expected }]);
        }
        await (i % 4 === 0 ? undefined : taken.hold?.release());
        seen.add(expected);
      }
      expect([...seen].sort()).toEqual([false, true]);
    },
  );

  it("changes no decision and no call", async () => {
    const { shadowLimit: _, ...plain } = limit;
    const answers = async (one: LimitInput) => {
      const central = memoryStore();
      const take = vi.fn(central.take);
      const limiter = limiterOf([apiWith(one)], withIsolate({ ...central, kind: "redis", take }));
      const all: unknown[] = [];
      for (let i = 0; i < 20; i++) {
        vi.setSystemTime(NOW_MS + 700 * i);
        const { allowed, source, remaining, retryAfterMs, resetAfterMs, delayMs } = await limiter.take("api");
        all.push([allowed, source, remaining, retryAfterMs, resetAfterMs, delayMs]);
      }
      return [all, take.mock.calls.length];
    };
    expect(await answers(limit)).toEqual(await answers(plain as LimitInput));
  });
});

describe("an answer without the store", () => {
  const limit = { algorithm: "fixed-window", limit: 3, shadowLimit: 2, window: "1m" } as const;
  const remote = (state: { failure?: StoreError }) => {
    const central = memoryStore();
    return withIsolate({
      ...central,
      kind: "redis",
      take: async (request) => {
        if (state.failure) throw state.failure;
        return await central.take(request);
      },
    });
  };

  it("from memory or from own counters tells what the isolate knows", async () => {
    const state: { failure?: StoreError } = {};
    const limiter = limiterOf([apiWith(limit)], remote(state));
    const told = async () => {
      const { source, limits } = await limiter.take("api");
      return [source, limits[0]!.admitted, limits[0]!.shadowLimit?.admitted];
    };
    expect([await told(), await told(), await told()]).toEqual([
      ["redis", true, true],
      ["redis", true, true],
      ["redis", true, false],
    ]);
    expect(await told()).toEqual(["cache", false, false]);
    state.failure = new StoreError("OPEN");
    vi.setSystemTime(NOW_MS + 6_000);
    expect(await told()).toEqual(["fallback", false, false]);
  });

  it("from a lease counts what was spent, and not what is in stock", async () => {
    const many = { algorithm: "fixed-window", limit: 100_000, shadowLimit: 300, window: "1d" } as const;
    const limiter = limiterOf([apiWith(many, { consistency: "leased" })], remote({}));
    const sources = new Set<string>();
    for (let i = 1; i <= 400; i++) {
      const { source, limits } = await limiter.take("api", { background: { waitUntil() {} } });
      sources.add(source);
      expect([i, limits[0]!.shadowLimit]).toEqual([i, { limit: 300, admitted: i <= 300 }]);
    }
    expect(sources).toContain("lease");
  });
});

it("is not asked for a client with other numbers", async () => {
  const limiter = limiterOf([apiWith({ limit: 3, shadowLimit: 2, window: "1m" }, { plans: { pro: { api: 9 } } })]);
  expect((await limiter.take("api", { plan: "pro" })).limits[0]).not.toHaveProperty("shadowLimit");
  expect((await limiter.take("api", { limits: { api: 3 } })).limits[0]).toHaveProperty("shadowLimit");
});

it("is in the log of what it refuses, and of refusals that it would have admitted", async () => {
  const lines: Record<string, unknown>[] = [];
  const onDecision = logDecisions((line) => lines.push(JSON.parse(line)));
  const limits: LimitInput[] = [
    { algorithm: "fixed-window", limit: 3, shadowLimit: 1, window: "1m" },
    { algorithm: "fixed-window", limit: 2, shadowLimit: 9, window: "1h" },
    { algorithm: "fixed-window", limit: 9, window: "1d" },
  ];
  const limiter = limiterOf([{ name: "api", key: "global", limits }], memoryStore(), { onDecision });
  for (let i = 0; i < 3; i++) await limiter.take("api");
  const first = { id: "api-1", limit: 1, admitted: false };
  const second = { id: "api-2", limit: 9, admitted: true };
  expect(lines.map(({ event, violated, shadow, shadowLimits }) => [event, violated, shadow, shadowLimits])).toEqual([
    ["shadow-refused", [], [], [first, second]],
    ["refused", ["api-2"], [], [first, second]],
  ]);
});
