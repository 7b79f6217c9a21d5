// Overflows over a store that is slow or silent: all attempts of a decision share one time budget, and a place without
// an answer is asked once.

import { beforeEach, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { createLimiter } from "../../support/limiter.ts";
import { matchedBy } from "../../support/matched.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000 })); // a minute begins

const BUDGET_MS = 250;
/** A refusal is remembered for a shorter time. */
const FORGOTTEN_MS = 6_000;
const NAMES = ["plan", "team", "pool", "last"];

/** A chain of four, of which three are used up, over a store that decides at once, and whose answers can be late. */
async function spentChain() {
  const memory = memoryStore();
  const place = { calls: 0, delayMs: 0, fails: false };
  const store: Store = {
    ...{ ...memory, kind: "redis" },
    async take(request) {
      place.calls++;
      if (place.fails) throw new StoreError("NETWORK");
      const reply = await memory.take(request);
      await new Promise((resolve) => setTimeout(resolve, place.delayMs));
      return reply;
    },
  };
  const policies = NAMES.map((name, i): PolicyInput => {
    const limits = [{ algorithm: "fixed-window", limit: i < 3 ? 1 : 9, window: "1h" }] as const;
    return { name, key: "global", limits, ...(i < 3 && { overflow: NAMES[i + 1]! }) };
  });
  const far = remoteStore(store, { onBreakerChange() {} });
  const limiter = createLimiter({ policies, store: far, keySecret: "a secret of sixteen", onDecision() {} });
  const take = () => matchedBy(limiter).take(NAMES.map((policy) => ({ policy })));
  for (let i = 0; i < 3; i++) {
    const taken = take();
    await vi.runAllTimersAsync();
    await taken;
  }
  await vi.advanceTimersByTimeAsync(FORGOTTEN_MS);
  place.calls = 0;
  return { place, take };
}

it("all attempts share one time budget, over a store whose answers take a third of it each", async () => {
  const { place, take } = await spentChain();
  place.delayMs = 80;
  const taken = take();
  // A timer that was set at the last instant.
  await vi.advanceTimersByTimeAsync(BUDGET_MS + 1);
  const decision = await Promise.race([taken, Promise.resolve(undefined)]);
  expect([decision?.paidBy, decision?.source, place.calls]).toEqual(["last", "fallback", 4]);
});

it("a store without an answer to the first attempt is not asked for the next one, although it answers again", async () => {
  const { place, take } = await spentChain();
  place.fails = true;
  const taken = take();
  while (place.calls === 0) await vi.advanceTimersByTimeAsync(0);
  place.fails = false;
  expect(await taken).toMatchObject({ paidBy: "last", source: "fallback" });
  expect(place.calls).toBe(1);
});
