// A told wait is long enough although the isolate knows more, or less, than the counts that it is computed from.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";

const NOW_MS = 1_700_000_040_000;
beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const policy = (name: string, limit: LimitInput): PolicyInput => ({ name, key: ["global"], limits: [limit] });
const background = { waitUntil() {} };

/** A store of memory that can be down, and that can hold its repayments back. */
function farStore() {
  const memory = memoryStore();
  const state = { isDown: false, repaid: undefined as Promise<void> | undefined };
  const store: Store = {
    ...memory,
    kind: "redis",
    timeoutMs: 20,
    async take(request) {
      if (state.isDown) throw new StoreError("OPEN");
      if (request.flag === Flag.chargeAnyway) await state.repaid;
      return await memory.take(request);
    },
  };
  return { state, store: withIsolate(store), memory };
}

it("of two places, one of which is away: the longest wait is told, and the numbers of the other stay hidden", async () => {
  const [near, away] = [farStore(), farStore()];
  const day: LimitInput = { algorithm: "fixed-window", limit: 1, window: "1d" };
  const policies = [policy("near", { algorithm: "fixed-window", limit: 1, window: "1m" }), policy("away", day)];
  const store = splitStore([near.store, away.store], (key) => (key.includes("{near:") ? 0 : 1));
  const limiter = createLimiter({ policies, store, onDecision() {} });
  const both = [{ policy: "near" }, { policy: "away" }];
  away.state.isDown = true;
  expect((await limiter.take(both, { background })).allowed).toBe(true);
  const refused = await limiter.take(both, { background });
  expect(refused).toMatchObject({ allowed: false, source: "cache" });
  expect(refused.limits.map(({ policy: { name } }) => name)).toEqual(["near"]);
  vi.setSystemTime(NOW_MS + refused.retryAfterMs!);
  expect((await limiter.take(both, { background })).allowed).toBe(true);
});

it.each<LimitInput>([
  { algorithm: "fixed-window", limit: 1, window: "1d" },
  { algorithm: "token-bucket", limit: 1, window: "1d" },
  { limit: 1, window: "1d" },
])("own counters by a clock that may drift: whoever waits as told is admitted ($algorithm)", async (limit) => {
  const { state, store } = farStore();
  const limiter = createLimiter({ policies: [policy("p", limit)], store, onDecision() {} });
  expect((await limiter.take("p", { background })).allowed).toBe(true);
  state.isDown = true;
  // The last reply refuses by itself for 5 s.
  vi.setSystemTime(Date.now() + 6_000);
  const refused = await limiter.take("p", { background });
  expect(refused).toMatchObject({ allowed: false, source: "fallback" });
  vi.setSystemTime(Date.now() + refused.retryAfterMs!);
  expect((await limiter.take("p", { background })).allowed).toBe(true);
});

it.each<LimitInput>([
  { algorithm: "token-bucket", limit: 10, window: "100s" },
  { algorithm: "leaky-bucket", limit: 10, window: "100s", burst: 10 },
  { limit: 10, window: "100s" },
])("a refusal beside the isolate's own repayment tells the wait with it ($algorithm)", async (limit) => {
  const { state, store, memory } = farStore();
  const policies = [policy("p", limit)];
  const limiter = createLimiter({ policies, store, onDecision() {} });
  state.isDown = true;
  for (let i = 0; i < 8; i++) await limiter.take("p", { background });
  state.isDown = false;
  const repaid = Promise.withResolvers<void>();
  state.repaid = repaid.promise;
  // The others have used all but one unit.
  await createLimiter({ policies, store: memory }).take("p", { cost: 9 });
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
