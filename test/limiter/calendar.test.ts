// A month's quota for a program: plans, numbers of a request, live changes, dollars, and what counts as near.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../src/index.ts";
import { remoteStore } from "../../src/limiter/stores/remote-store.ts";
import type { OnDecision } from "../../src/limiter.ts";
import { countDecision } from "../../src/stats/count.ts";
import { Tally } from "../../src/stats/tally.ts";
import { memoryLive } from "../../src/store/live.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { createLimiter, limiterOf } from "../support/limiter.ts";
import { checkedPolicies } from "./live/policies.ts";

const MONTH = { algorithm: "calendar", limit: 10, window: "month", zone: "America/Los_Angeles", monthDay: 15 } as const;
const calls = {
  name: "calls",
  key: "global",
  plans: { pro: { calls: 20 }, trial: { calls: 2 } },
  limits: [MONTH],
} as const satisfies PolicyInput;

/** An hour before midnight of November 15 in Los Angeles. */
const BEFORE_MS = Date.parse("2026-11-15T07:00:00Z");
const AFTER_MS = Date.parse("2026-11-15T08:00:00Z");

beforeEach(() => void vi.useFakeTimers({ now: BEFORE_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

it("has other numbers by plan and by request, and one count for all of them until the month ends", async () => {
  const limiter = createLimiter({ policies: [calls], store: memoryStore(), onDecision() {} });
  const left = async (options: object) => {
    const { allowed, remaining, retryAfterMs } = await limiter.take("calls", { cost: 3, ...options });
    return [allowed, remaining, retryAfterMs];
  };
  expect(await left({})).toEqual([true, 7, 0]);
  expect(await left({ plan: "pro" })).toEqual([true, 14, 0]);
  expect(await left({ plan: "trial", cost: 1 })).toEqual([false, 0, 3_600_000]);
  expect(await left({ limits: { calls: 8 } })).toEqual([false, 2, 3_600_000]);
  vi.setSystemTime(AFTER_MS);
  expect(await left({ limits: { calls: 8 } })).toEqual([true, 5, 0]);
  expect(await left({ plan: "pro" })).toEqual([true, 14, 0]);
});

it("has another number at once when an operator changes it, and what was used stays used", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const live = memoryLive();
  const store = remoteStore({ ...memoryStore(), kind: "far", keySecret: "secret", live });
  const limiter = limiterOf(checkedPolicies([calls]), { store, liveRefreshMs: 30_000, onDecision() {} });
  const take = async (cost: number) =>
    (await limiter.take("calls", { cost, background: { waitUntil() {} } })).remaining;
  await live.write(JSON.stringify({ policies: { calls: { limits: { calls: 100 } } }, overrides: [] }), 0);
  await limiter.live!.refresh();
  expect(await take(60)).toBe(40);
  await live.write(JSON.stringify({ policies: { calls: { limits: { calls: 70 } } }, overrides: [] }), 1);
  await limiter.live!.refresh();
  expect(await take(1)).toBe(9);
  await live.write(JSON.stringify({ policies: {}, overrides: [] }), 2);
  await limiter.live!.refresh();
  expect(await limiter.take("calls", { background: { waitUntil() {} } })).toMatchObject({
    allowed: false,
    remaining: 0,
  });
  vi.setSystemTime(AFTER_MS);
  expect(await take(1)).toBe(9);
});

it("counts dollars a month: an estimate is reserved, and what was not used comes back", async () => {
  const meter = { unit: "usd", prices: { default: { input: 15, output: 75 } } } as const;
  const spend = {
    name: "spend",
    key: "global",
    meter,
    limits: [{ ...MONTH, limit: 12.5 }],
  } as const satisfies PolicyInput;
  const limiter = createLimiter({ policies: [spend], store: memoryStore(), onDecision() {} });
  expect(limiter.policies[0]!.limits[0]).toMatchObject({ limit: 1_250_000, unit: "usd" });
  const reserve = () => limiter.reserve("spend", { cost: 600_000 });
  const first = await reserve();
  expect(first.decision).toMatchObject({ allowed: true, remaining: 650_000 });
  expect((await reserve()).decision).toMatchObject({ allowed: true, remaining: 50_000 });
  expect((await reserve()).decision).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
  await first.settle(100_000);
  expect(await limiter.peek("spend")).toMatchObject({ remaining: 550_000 });
});

it("is near its number when a twentieth is left", async () => {
  const tally = new Tally(0);
  const { plans: _, ...policy } = { ...calls, limits: [{ ...MONTH, limit: 100 }] };
  const onDecision: OnDecision = (decision, context) => countDecision(tally, decision, context);
  const limiter = createLimiter({ policies: [policy], store: memoryStore(), onDecision });
  for (let i = 0; i < 101; i++) await limiter.take("calls");
  expect(Object.entries(tally.counts().sums).filter(([name]) => name.includes("near"))).toEqual([
    [expect.stringContaining("calls"), 6],
  ]);
});
