// The outcome of a decision on each way that one is made: by a store, from memory, from a lease, without the store.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../src/config/policy-input.ts";
import type { Decision } from "../../src/core/decision.ts";
import { remoteStore } from "../../src/limiter/stores/remote-store.ts";
import { splitStore } from "../../src/limiter/stores/split-store.ts";
import type { TakeOptions } from "../../src/limiter.ts";
import { memoryLive } from "../../src/store/live.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { type Store, StoreError } from "../../src/store/store.ts";
import { createLimiter, limiterOf } from "../support/limiter.ts";
import { failingStore } from "../support/redis/stores.ts";
import { checkedPolicies } from "./live/policies.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const policy = (name: string, more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name, key: ["global"], limits: [{ limit: 2, window: "1h" }], ...more };
};
const background = { waitUntil() {} };

/** What a decision says of itself. No member needs a cast, whatever the outcome. */
function said(decision: Decision) {
  const { outcome, allowed, source, remaining, retryAfterMs, resetAfterMs, delayMs, hold } = decision;
  const { blocked, unavailable, limits, shadow } = decision;
  // What the members say and the outcome never differ.
  expect(allowed).toBe(outcome === "admitted");
  expect(blocked).toBe(outcome === "blocked" ? true : undefined);
  expect(unavailable).toBe(outcome === "unavailable" ? true : undefined);
  if (outcome !== "refused") expect(limits.every(({ admitted }) => admitted)).toBe(true);
  if (outcome === "admitted") expect(retryAfterMs).toBe(0);
  else expect([delayMs, hold]).toEqual([undefined, undefined]);
  if (outcome === "blocked" || outcome === "unavailable") {
    expect([remaining, resetAfterMs, limits, shadow]).toEqual([undefined, undefined, [], []]);
  }
  return `${outcome} by ${source}`;
}

/** What so many takes say. */
async function takes(count: number, store: Store, policies: PolicyInput[], options: TakeOptions = {}) {
  const limiter = createLimiter({ policies, store, onDecision() {} });
  const all: string[] = [];
  for (let i = 0; i < count; i++) {
    all.push(
      said(
        await limiter.take(
          policies.map(({ name }) => ({ policy: name })),
          options,
        ),
      ),
    );
  }
  return all;
}

/** A store far away, as Redis is for an isolate. */
const far = (): Store => remoteStore({ ...memoryStore(), kind: "redis" });
const silent = () => remoteStore(failingStore());

describe("a take", () => {
  it("in memory", async () => {
    expect(await takes(3, memoryStore(), [policy("a")])).toEqual([
      "admitted by memory",
      "admitted by memory",
      "refused by memory",
    ]);
  });

  it("at a store far away: the isolate remembers the refusal", async () => {
    expect(await takes(4, far(), [policy("a")])).toEqual([
      "admitted by redis",
      "admitted by redis",
      "refused by cache",
      "refused by cache",
    ]);
  });

  it("at a store far away, at a cost that it refuses first", async () => {
    const limiter = createLimiter({ policies: [policy("a")], store: far() });
    expect(said(await limiter.take("a", { cost: 3 }))).toBe("refused by redis");
    // What can never be admitted has no wait, and stays a refusal.
    expect((await limiter.take("a", { cost: 3 })).retryAfterMs).toBeUndefined();
  });

  it("from leased units", async () => {
    const leased = policy("a", { consistency: "leased", limits: [{ limit: 1_000, window: "1h" }] });
    const said = await takes(1_001, far(), [leased], { background });
    expect(new Set(said.slice(0, 1_000))).toEqual(new Set(["admitted by redis", "admitted by lease"]));
    expect(said[1_000]).toBe("refused by cache");
  });

  it.each<[PolicyInput["onStoreFailure"] & string, string[]]>([
    ["local", ["admitted by fallback", "admitted by fallback", "refused by fallback"]],
    ["allow", ["admitted by fallback", "admitted by fallback", "admitted by fallback"]],
    ["deny", ["unavailable by fallback", "unavailable by fallback", "unavailable by fallback"]],
  ])("without its store: %s", async (onStoreFailure, expected) => {
    expect(await takes(3, silent(), [policy("a", { onStoreFailure })])).toEqual(expected);
  });

  it("over several places: refused by one comes before unavailable, unavailable before admitted", async () => {
    const places = (store: Store) => splitStore([store, silent()], (key) => (key.includes("{there:") ? 1 : 0));
    const both = [policy("here"), policy("there", { onStoreFailure: "deny" })];
    expect(await takes(1, places(far()), both)).toEqual(["unavailable by fallback"]);
    const none = policy("here", { limits: [{ limit: 1, window: "1h" }] });
    const limiter = createLimiter({ policies: [none, both[1]!], store: places(far()), onDecision() {} });
    await limiter.take("here");
    expect(said(await limiter.take([{ policy: "here" }, { policy: "there" }]))).toBe("refused by cache");
  });

  it("under a policy in shadow that refuses, and under no policy at all", async () => {
    const shadow = policy("a", { mode: "shadow", limits: [{ limit: 1, window: "1h" }] });
    expect(await takes(2, memoryStore(), [shadow])).toEqual(["admitted by memory", "admitted by memory"]);
    expect(await takes(1, silent(), [{ ...shadow, onStoreFailure: "deny" }])).toEqual(["admitted by fallback"]);
    const limiter = createLimiter({ policies: [shadow], store: memoryStore() });
    expect(said(await limiter.takeMatched([], () => "eu"))).toBe("admitted by memory");
  });

  it("with a delay, and with a slot", async () => {
    const queued = policy("queued", {
      limits: [{ algorithm: "leaky-bucket", limit: 1, window: "1s", burst: 1, maxDelay: "1s" }],
    });
    const slots = policy("slots", { limits: [{ algorithm: "concurrency", limit: 1 }] });
    for (const one of [queued, slots]) {
      const limiter = createLimiter({ policies: [one], store: memoryStore() });
      const decisions = [await limiter.take(one.name), await limiter.take(one.name), await limiter.take(one.name)];
      const refused = one === slots ? 2 : 1;
      expect(decisions.map(said).filter((text) => text === "refused by memory")).toHaveLength(refused);
    }
  });
});

it("a look, a reservation, and more units for it", async () => {
  const limiter = createLimiter({ policies: [policy("a")], store: far() });
  expect(said(await limiter.peek("a"))).toBe("admitted by redis");
  const reservation = await limiter.reserve("a", { cost: 1 });
  expect(said(reservation.decision)).toBe("admitted by redis");
  expect(said(await reservation.extend({ a: 1 }))).toBe("admitted by redis");
  expect(said(await reservation.extend({ a: 1 }))).toMatch(/^refused by /);
  expect(said(await limiter.peek("a"))).toMatch(/^refused by /);
});

describe("a client that the live document blocks", () => {
  async function limiterWith(override: object, store: Partial<Store> = {}) {
    const live = memoryLive();
    const policies = checkedPolicies([policy("a", { onStoreFailure: "deny" })]);
    const place = remoteStore({ ...memoryStore(), kind: "redis", ...store, live });
    const limiter = limiterOf(policies, { store: place, liveRefreshMs: 30_000, onDecision() {} });
    const { kind, partition: key } = await limiter.client("a", {});
    await live.write(JSON.stringify({ policies: {}, overrides: [{ policy: "a", kind, key, ...override }] }), 0);
    return limiter;
  }

  it("is blocked, also while the store is away", async () => {
    const take = async () => {
      throw new StoreError("NETWORK");
    };
    for (const limiter of [await limiterWith({ block: true }), await limiterWith({ block: true }, { take })]) {
      expect(said(await limiter.take("a"))).toBe("blocked by live");
      expect(said(await limiter.peek("a"))).toBe("blocked by live");
      expect(said((await limiter.reserve("a")).decision)).toBe("blocked by live");
    }
  });

  it("is blocked until an instant, which is its wait", async () => {
    const limiter = await limiterWith({ block: true, until: new Date(Date.now() + 60_000).toISOString() });
    const decision = await limiter.take("a");
    expect([said(decision), decision.retryAfterMs]).toEqual(["blocked by live", 60_000]);
  });

  it("is admitted if it is exempt", async () => {
    const limiter = await limiterWith({ exempt: true });
    expect(said(await limiter.take("a"))).toBe("admitted by redis");
  });
});
