// One Redis that turns out to be a cluster: every policy's keys lie in a slot of their own. 10 ms one way.

import { expect, it } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { hashTagOf } from "../../../src/kernel/core/layout.ts";
import { type IsolateOptions, isolateOf, type PlaceTaker, withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { splitByHashSlot } from "../../../src/stores/redis-store.ts";
import { createLimiter } from "../../support/limiter.ts";

const policy = (name: string, limit: number, more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name, key: ["global"], limits: [{ limit, window: "1h", buckets: 60, oldest: "whole" }], ...more };
};
const POLICIES = [policy("user", 3), policy("site", 5), policy("trial", 1, { mode: "shadow" })];

/** A cluster in memory, and a limiter over it. `calls` has the policies of each call. */
function cluster(storeOf: (redis: Store) => Store = splitByHashSlot, policies = POLICIES) {
  const memory = memoryStore();
  const calls: string[][] = [];
  let isDown = false;
  const redis: Store = {
    ...memory,
    kind: "redis",
    timeoutMs: 1_000,
    async take(request) {
      const tags = [...new Set(request.keys.map(({ key }) => hashTagOf(key).split(":")[0]!))];
      calls.push(tags);
      if (isDown) throw new StoreError("OPEN");
      if (tags.length > 1) throw new StoreError("CROSSSLOT");
      return await memory.take(request);
    },
  };
  const limiter = createLimiter({ policies, store: storeOf(withIsolate(redis)), onDecision() {} });
  const works: Promise<unknown>[] = [];
  const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
  return {
    limiter,
    calls,
    take: (...names: string[]) =>
      limiter.take(
        names.map((policy) => ({ policy })),
        { background },
      ),
    remaining: async (name: string) => (await limiter.peek(name)).limits[0]!.remaining,
    settled: async () => void (await Promise.all(works)),
    down(is: boolean) {
      isDown = is;
    },
  };
}

it("is asked for all keys at once until it says CROSSSLOT, and slot by slot from then on", async () => {
  const { take, calls } = cluster();
  expect(await take("user")).toMatchObject({ allowed: true, source: "redis" });
  expect(await take("user", "site")).toMatchObject({ allowed: true, source: "redis" });
  expect(calls).toEqual([["user"], ["user", "site"], ["user"], ["site"]]);
  expect(await take("user", "site")).toMatchObject({ allowed: true, limits: [{ remaining: 0 }, { remaining: 3 }] });
  expect(calls.slice(4)).toEqual([["user"], ["site"]]);
});

it("gives back what one slot has charged for a request that another refuses", async () => {
  const { take, remaining, settled } = cluster();
  for (let i = 0; i < 3; i++) await take("user");
  const other = cluster();
  expect((await take("site", "user")).allowed).toBe(false);
  await settled();
  expect(await remaining("site")).toBe(5);
  // Also where the first of all decisions is the one that is refused.
  for (let i = 0; i < 3; i++) await other.take("user");
  expect((await other.take("trial", "site", "user")).allowed).toBe(false);
  await other.settled();
  expect(await other.remaining("site")).toBe(5);
});

it("looks into several slots, and forgets what lies in one", async () => {
  const { limiter, take } = cluster();
  const both = [{ policy: "user" }, { policy: "site" }];
  expect((await limiter.peek(both)).limits.map(({ remaining }) => remaining)).toEqual([3, 5]);
  await take("user", "site");
  await limiter.reset("user");
  expect((await limiter.peek(both)).limits.map(({ remaining }) => remaining)).toEqual([3, 4]);
});

it("is told slot by slot what it has missed", async () => {
  const { take, calls, down, remaining, settled } = cluster();
  await take("user", "site");
  down(true);
  expect(await take("user", "site")).toMatchObject({ allowed: true, source: "fallback" });
  down(false);
  calls.length = 0;
  for (let i = 0; i < 3; i++) {
    await take("trial");
    await settled();
  }
  // It has learned from the first decision that the keys lie in several hash slots.
  expect(calls.filter((tags) => tags.length > 1)).toHaveLength(0);
  expect([await remaining("user"), await remaining("site")]).toEqual([1, 3]);
});

it("trusts a refusal for 5 s, and as a cluster for 1 s", async () => {
  const trusted: number[] = [];
  const store = {
    ...memoryStore(),
    isolate: ({ trustedMs = () => 0 }: IsolateOptions) => {
      const isolate = isolateOf(withIsolate(redis))!;
      const strict: PlaceTaker = {
        ...isolate.strict,
        take: async (ask, call) => {
          trusted.push(trustedMs());
          return await isolate.strict.take(ask, call);
        },
      };
      return { ...isolate, strict };
    },
  };
  const redis: Store = {
    ...memoryStore(),
    take: async (request) => {
      if (request.keys.length > 1) throw new StoreError("CROSSSLOT");
      return await memoryStore().take(request);
    },
  };
  const limiter = createLimiter({ policies: POLICIES, store: splitByHashSlot(store), onDecision() {} });
  await limiter.take("user");
  await limiter.take([{ policy: "user" }, { policy: "site" }]);
  await limiter.take([{ policy: "user" }, { policy: "site" }]);
  expect(trusted[0]).toBe(5_000);
  expect(trusted.slice(-2)).toEqual([1_000, 1_000]);
});
