// The console reports an outage to a program without onDecision.

import { beforeEach, expect, it, vi } from "vitest";
import type { BreakerChange } from "../../../src/kernel/place/breaker.ts";
import { createLimiter, type LimiterOptions } from "../../../src/limiter.ts";
import { redisStore } from "../../../src/stores/redis-store.ts";

const START_MS = Date.UTC(2026, 10, 21, 12);
/** Nobody listens there. A port that was free a moment ago may be somebody's now. */
const NOWHERE = "http://127.0.0.1:2";

beforeEach(() => {
  vi.useFakeTimers({ now: START_MS, toFake: ["Date"] });
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

const written = () => vi.mocked(console.warn).mock.calls.map(([line]) => JSON.parse(String(line)) as { event: string });

/** Returns a function that takes from an unreachable Redis, as often as asked, at one instant. */
function outage(options: Partial<LimiterOptions> = {}, onBreakerChange?: (change: BreakerChange) => void) {
  const listening = onBreakerChange && { onBreakerChange };
  const store = redisStore({ url: NOWHERE, token: "t", timeoutMs: 10_000, ...listening });
  const policies = [{ name: "site", key: "global", limits: [{ limit: 3, window: "1h" }] }] as const;
  const limiter = createLimiter({ policies, store, ...options });
  return async (times: number) => {
    for (let i = 0; i < times; i++) await limiter.take("site");
  };
}

it("says that Redis is away once a second and once for a change of the breaker, and how much it left out", async () => {
  const take = outage();
  await take(20);
  const at = new Date(START_MS).toISOString();
  const failure = { event: "store-failure", policies: ["site"], source: "fallback" };
  expect(written()).toEqual([
    { ...failure, at, failure: "NETWORK", allowed: true },
    { event: "breaker", at, state: "open", failure: "NETWORK" },
  ]);

  vi.setSystemTime(START_MS + 999);
  await take(1);
  expect(written()).toHaveLength(2);
  // After the time of the next probe. The probe gets no answer either.
  vi.setSystemTime(START_MS + 3_000);
  await take(2);
  const later = { ...failure, at: new Date(START_MS + 3_000).toISOString(), allowed: false, suppressed: 20 };
  expect(written().slice(2)).toEqual([{ ...later, failure: "NETWORK" }]);
});

it("is silent about what the program listens to, and reports the other failure by itself", async () => {
  const [decisions, changes] = [vi.fn(), vi.fn()];
  await outage({ onDecision: decisions }, changes)(6);
  expect(decisions).toHaveBeenCalledTimes(6);
  expect(changes.mock.calls).toEqual([[{ state: "open", failure: "NETWORK" }]]);
  expect(written()).toEqual([]);
  await outage({ onDecision: decisions })(6);
  expect(written().map(({ event }) => event)).toEqual(["breaker"]);
});
