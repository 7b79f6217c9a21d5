// When debts are repaid: after an answer of the store itself, and never as the probe of an open breaker. The outcome of
// a probe into a dead store is not known, and what it was to charge would be lost.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { withBreaker } from "../../../src/kernel/place/breaker.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";

const NOW_MS = 1_700_000_040_000;
/** Longer than a breaker waits for its next probe. */
const PROBE_MS = 1_300;
const day = { algorithm: "fixed-window", window: "1d" } as const;
const POLICIES: readonly PolicyInput[] = [
  { name: "api", key: ["global"], limits: [{ ...day, limit: 100 }] },
  { name: "used-up", key: ["global"], limits: [{ ...day, limit: 1 }] },
  { name: "leased", key: ["global"], consistency: "leased", limits: [{ ...day, limit: 1_000_000 }] },
];

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());
const wait = (ms: number) => vi.setSystemTime(Date.now() + ms);

/** A store behind a breaker. While it is dead, nobody knows whether a call to it ran. */
function setUp(inPlaces: boolean) {
  const memory = memoryStore();
  const state = {
    isDead: false,
    repayments: 0,
    isHolding: false,
    held: undefined as Promise<void> | undefined,
  };
  const link: Store = {
    ...memory,
    kind: "redis",
    timeoutMs: 100,
    async take(request) {
      if (request.flag === Flag.chargeAnyway) state.repayments++;
      const { held } = state;
      if (held) {
        state.isHolding = true;
        const reply = await memory.take(request);
        await held;
        return reply;
      }
      if (state.isDead) throw new StoreError("NETWORK");
      return await memory.take(request);
    },
  };
  const place = withIsolate(withBreaker(link, { timeoutMs: 100 }));
  const other = withIsolate({ ...memoryStore(), kind: "redis" });
  const store = inPlaces ? splitStore([place, other], () => 0) : place;
  const limiter = createLimiter({ policies: POLICIES, store, onDecision() {} });
  const background = { waitUntil() {} };
  const take = async (name: string) => {
    const { allowed, source } = await limiter.take(name, { background });
    return `${allowed ? "allowed" : "refused"} by ${source}`;
  };
  const atStore = async () => (await createLimiter({ policies: POLICIES, store: memory }).peek("api")).remaining;
  return { state, take, atStore };
}

describe.each([
  ["one place", false],
  ["several places", true],
])("over %s", (_, inPlaces) => {
  // Over several places a refusal is remembered for a shorter time than a breaker waits.
  const known = [["used-up", "refused by cache"] as const].filter(() => !inPlaces);
  it.each([...known, ["leased", "allowed by lease"] as const])(
    "answers of %s, %s, repay nothing",
    async (name, expected) => {
      const { state, take, atStore } = setUp(inPlaces);
      for (let i = 0; i < 300; i++) await take("leased");
      for (let i = 0; i < 2; i++) await take("used-up");
      state.isDead = true;
      for (let i = 0; i < 5; i++) await take("api");
      // The breaker is open: these are known not to have run.
      for (let i = 0; i < 40; i++) expect(await take("api")).toBe("allowed by fallback");
      for (let i = 0; i < 3; i++) {
        wait(PROBE_MS);
        expect(await take(name)).toBe(expected);
      }
      expect(state.repayments).toBe(0);
      state.isDead = false;
      wait(PROBE_MS);
      expect(await take("api")).toBe("allowed by redis");
      await new Promise(setImmediate);
      expect(await atStore()).toBe(100 - 41);
    },
  );

  it("a reply from before the breaker has opened lets debts pass: the breaker says only that no request waits", async () => {
    const { state, take, atStore } = setUp(inPlaces);
    const arrived = Promise.withResolvers<void>();
    state.held = arrived.promise;
    const early = take("api");
    await vi.waitUntil(() => state.isHolding, { interval: 1 });
    [state.held, state.isDead] = [undefined, true];
    for (let i = 0; i < 15; i++) await take("api");
    expect(state.repayments).toBe(0);
    state.isDead = false;
    arrived.resolve();
    expect(await early).toBe("allowed by redis");
    await new Promise(setImmediate);
    expect(state.repayments).toBe(1);
    expect(await atStore()).toBe(100 - 11);
  });
});
