// When debts are repaid: after an answer of the store itself, and never as the probe of an open breaker. The outcome of
// a probe into a dead store is not known, and what it was to charge would be lost.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { withBreaker } from "../../../src/kernel/place/breaker.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";
import { farStore } from "./far-store.ts";

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
const wait = (ms: number) => vi.setSystemTime(Date.now() + ms);

/** A store behind a breaker. While it is dead, nobody knows whether a call to it ran. */
function setUp(inPlaces: boolean) {
  const { memory, store: link, state } = farStore();
  const place = withIsolate(withBreaker({ ...link, timeoutMs: 100 }, { timeoutMs: 100 }));
  const other = withIsolate({ ...memoryStore(), kind: "redis" });
  const store = inPlaces ? splitStore([place, other], () => 0) : place;
  const limiter = createLimiter({ policies: POLICIES, store, onDecision() {} });
  const take = async (name: string) => {
    const { allowed, source } = await limiter.take(name, { background: { waitUntil() {} } });
    return `${allowed ? "allowed" : "refused"} by ${source}`;
  };
  const repayments = () => state.flags.filter((flag) => flag === Flag.chargeAnyway).length;
  const atStore = async () => (await createLimiter({ policies: POLICIES, store: memory }).peek("api")).remaining;
  return { state, take, repayments, atStore };
}
const DEAD = new StoreError("NETWORK");

describe.each([
  ["one place", false],
  ["several places", true],
])("over %s", (_, inPlaces) => {
  // Over several places a refusal is remembered for a shorter time than a breaker waits.
  const known = [["used-up", "refused by cache"] as const].filter(() => !inPlaces);
  it.each([...known, ["leased", "allowed by lease"] as const])(
    "answers of %s, %s, repay nothing",
    async (name, expected) => {
      const { state, take, repayments, atStore } = setUp(inPlaces);
      for (let i = 0; i < 300; i++) await take("leased");
      for (let i = 0; i < 2; i++) await take("used-up");
      state.failure = DEAD;
      for (let i = 0; i < 5; i++) await take("api");
      // The breaker is open: these are known not to have run.
      for (let i = 0; i < 40; i++) expect(await take("api")).toBe("allowed by fallback");
      for (let i = 0; i < 3; i++) {
        wait(PROBE_MS);
        expect(await take(name)).toBe(expected);
      }
      expect(repayments()).toBe(0);
      state.failure = undefined;
      wait(PROBE_MS);
      expect(await take("api")).toBe("allowed by redis");
      await new Promise(setImmediate);
      expect(await atStore()).toBe(100 - 41);
    },
  );

  it("a reply from before the breaker has opened lets debts pass: the breaker says only that no request waits", async () => {
    const { state, take, repayments, atStore } = setUp(inPlaces);
    const arrived = Promise.withResolvers<void>();
    state.answersAfter = arrived.promise;
    const early = take("api");
    await vi.waitUntil(() => state.flags.length > 0, { interval: 1 });
    Object.assign(state, { answersAfter: undefined, failure: DEAD });
    for (let i = 0; i < 15; i++) await take("api");
    expect(repayments()).toBe(0);
    state.failure = undefined;
    arrived.resolve();
    expect(await early).toBe("allowed by redis");
    await new Promise(setImmediate);
    expect(repayments()).toBe(1);
    expect(await atStore()).toBe(100 - 11);
  });
});
