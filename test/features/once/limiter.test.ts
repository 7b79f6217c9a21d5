// Requests that are sent again with the same id: charged once, by hand and over a store that fails.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { keysOfRequest, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../support/limiter.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));

const api: PolicyInput = {
  name: "api",
  key: ["header:x-user"],
  once: "header:idempotency-key",
  limits: [{ limit: 2, window: "1h", buckets: 60 }],
};
const strict: PolicyInput = {
  name: "strict",
  key: ["header:x-user"],
  limits: [{ limit: 3, window: "1h", buckets: 60 }],
};

/** A store that several isolates share, and its calls. It can be made to fail before it runs a request or after. */
function sharedStore() {
  const memory = memoryStore();
  const state = { failure: undefined as StoreError | undefined, runsFirst: false, calls: [] as TakeRequest[] };
  const store: Store = {
    ...memory,
    kind: "redis",
    async take(request) {
      state.calls.push(request);
      const work = () => memory.take(request, Date.now());
      if (!state.failure) return await work();
      if (state.runsFirst) await work();
      throw state.failure;
    },
  };
  return { store, state };
}

function limiterOver(store: Store, ...policies: PolicyInput[]) {
  const limiter = createLimiter({ policies, store: withIsolate(store) });
  const take = async (once?: string, more: object = {}, policy: Parameters<typeof limiter.take>[0] = "api") => {
    const { allowed, limits, shadow } = await limiter.take(policy, { key: "ann", ...(once && { once }), ...more });
    return allowed ? ([...limits, ...shadow].some(({ repeated }) => repeated) ? "repeat" : "charged") : "refused";
  };
  return { limiter, take };
}

const fresh = (...policies: PolicyInput[]) => limiterOver(sharedStore().store, ...(policies.length ? policies : [api]));

describe("a request by hand with an id", () => {
  it("is charged once, then admitted as often as `repeats` says, also when nothing is left", async () => {
    const { take } = fresh();
    expect([await take("a"), await take("b")]).toEqual(["charged", "charged"]);
    expect([await take("a"), await take("a"), await take("a")]).toEqual(["repeat", "repeat", "refused"]);
    expect([await take("c"), await take(), await take("b")]).toEqual(["refused", "refused", "repeat"]);
  });

  it("has an id of its own for each policy of a list, or one for all; policies without `once` charge", async () => {
    const { limiter, take } = fresh(api, { ...api, name: "other" }, strict);
    const list = (once?: string) =>
      ["api", "other", "strict"].map((policy) => ({ policy, key: "ann", ...(once && { once }) }));
    expect(await take("a", { key: undefined }, list())).toBe("charged");
    const { limits } = await limiter.take([...list("a").slice(0, 1), ...list("b").slice(1)]);
    expect(limits.map(({ repeated = false, remaining }) => [repeated, remaining])).toEqual([
      [true, 1],
      [false, 0],
      [false, 1],
    ]);
  });

  it("reserves nothing as a repeat; releasing the first forgets the id, and settling a part does not", async () => {
    const { limiter, take } = fresh({ ...api, limits: [{ limit: 10, window: "1h", buckets: 60 }] });
    const reserve = (once: string) => limiter.reserve("api", { key: "ann", once, cost: 4 });
    const remaining = async () => (await limiter.peek("api", { key: "ann" })).remaining;
    const [first, repeat] = [await reserve("a"), await reserve("a")];
    expect([first.reserved, repeat.reserved]).toEqual([{ api: 4 }, {}]);
    await repeat.settle(7);
    expect(await remaining()).toBe(6);
    await first.settle(3);
    expect(await remaining()).toBe(7);
    expect(await take("a", { cost: 4 })).toBe("repeat");
    const released = await reserve("b");
    await released.release();
    expect(await remaining()).toBe(7);
    expect(await take("b", { cost: 4 })).toBe("charged");
  });

  it("gives a reservation beyond its repeats back, which has a charge of its own", async () => {
    const { limiter, take } = fresh({ ...api, repeats: 1, limits: [{ limit: 10, window: "1h", buckets: 60 }] });
    const remaining = async () => (await limiter.peek("api", { key: "ann" })).remaining;
    expect([await take("a"), await take("a"), await remaining()]).toEqual(["charged", "repeat", 9]);
    const beyond = await limiter.reserve("api", { key: "ann", once: "a" });
    expect([beyond.reserved, await remaining()]).toEqual([{ api: 1 }, 8]);
    await beyond.release();
    expect(await remaining()).toBe(9);
    expect([await take("a"), await remaining()]).toEqual(["charged", 8]);
  });

  it("forgets the id of a released reservation that was extended, beside a policy with slots", async () => {
    const slots: PolicyInput = {
      ...{ name: "slots", key: ["header:x-user"] },
      limits: [{ algorithm: "concurrency", limit: 5, timeout: "1m" }],
    };
    const { limiter, take } = fresh({ ...api, limits: [{ limit: 10, window: "1h", buckets: 60 }] }, slots);
    const both = ["api", "slots"].map((policy) => ({ policy, key: "ann", once: "a" }));
    const reservation = await limiter.reserve(both);
    await reservation.extend({ api: 2 });
    await reservation.release();
    expect((await limiter.peek("api", { key: "ann" })).remaining).toBe(10);
    expect(await take("a")).toBe("charged");
  });

  it("says that an empty id is misuse, and one that is no text", async () => {
    const { limiter } = fresh();
    await expect(limiter.take("api", { key: "ann", once: "" })).rejects.toThrow("once to be a non-empty string");
    await expect(limiter.take("api", { key: "ann", once: 5 as never })).rejects.toThrow("once: expected string");
  });

  it("reaches the store only as a hash, in the hash slot of its key", async () => {
    const { store, state } = sharedStore();
    await limiterOver(store, api).take("the-secret-id");
    const [key, once] = keysOfRequest(state.calls[0]!);
    expect(JSON.stringify(state.calls)).not.toContain("the-secret-id");
    expect(once).toMatch(/^hg:2:\{api:[\w-]{22}\}![\w-]{22}$/);
    expect(once!.startsWith(`${key}!`)).toBe(true);
  });
});

describe("what an isolate knows", () => {
  it("refuses no request with an id; it still refuses others, and by other policies", async () => {
    const { store, state } = sharedStore();
    const { limiter, take } = limiterOver(store, api, { ...strict, limits: [{ limit: 2, window: "1h", buckets: 60 }] });
    await take("a");
    await take("b");
    expect(await take()).toBe("refused");
    state.calls.length = 0;
    expect([await take(), state.calls.length]).toEqual(["refused", 0]);
    expect([await take("c"), state.calls.length]).toEqual(["refused", 1]);
    expect([await take("a"), state.calls.length]).toEqual(["repeat", 2]);
    // The policy without ids is used up, and the other one is known to have room.
    const both = (once: string) =>
      limiter.take(
        [
          { policy: "api", key: "eve" },
          { policy: "strict", key: "eve" },
        ],
        { once },
      );
    for (const once of ["a", "a", "c"]) await both(once);
    state.calls.length = 0;
    expect([(await both("a")).source, state.calls.length]).toEqual(["cache", 0]);
  });

  it("spends no leased units on a request with an id", async () => {
    const { store, state } = sharedStore();
    const leased = { ...api, consistency: "leased" as const, limits: [{ limit: 1_000, window: "1h", buckets: 60 }] };
    const { limiter } = limiterOver(store, leased as PolicyInput);
    const background = { waitUntil: () => {} };
    for (let i = 0; i < 20; i++) await limiter.take("api", { key: "ann", background });
    const before = state.calls.length;
    expect((await limiter.take("api", { key: "ann", once: "a", background })).source).toBe("redis");
    expect((await limiter.take("api", { key: "ann", once: "a", background })).limits[0]).toMatchObject({
      repeated: true,
    });
    expect(state.calls.length).toBe(before + 2);
  });

  it("charges every request while the store has no answer, and charges none of these later", async () => {
    const { store, state } = sharedStore();
    const { limiter, take } = limiterOver(store, { ...api, limits: [{ limit: 5, window: "1h", buckets: 60 }] });
    state.failure = new StoreError("OFFLINE");
    expect([await take("a"), await take("a"), await take()]).toEqual(["charged", "charged", "charged"]);
    state.failure = undefined;
    // The next answers of the store charge what is owed: the request without an id.
    await limiter.take("api", { key: "ann", cost: 0 });
    await new Promise((resolve) => setTimeout(resolve));
    const { remaining } = await limiter.peek("api", { key: "ann" });
    expect(remaining).toBe(4);
    expect([await take("a"), await take("a")]).toEqual(["charged", "repeat"]);
  });
});
