// One Redis that turns out to be a cluster: every policy's keys lie in a slot of their own. 10 ms one way.

import { expect, it, onTestFinished, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { hashTagOf } from "../../../src/kernel/core/layout.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { splitByHashSlot } from "../../../src/stores/redis-store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";

const policy = (name: string, limit: number, more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name, key: ["global"], limits: [{ limit, window: "1h", buckets: 60, oldest: "whole" }], ...more };
};
const POLICIES = [policy("user", 3), policy("site", 5), policy("trial", 1, { mode: "shadow" })];

/** A cluster in memory, and a limiter over it. `calls` has the policies of each call. */
function cluster(storeOf: (redis: Store) => Store = splitByHashSlot) {
  const memory = memoryStore();
  const calls: string[][] = [];
  const redis: Store = {
    ...memory,
    kind: "redis",
    timeoutMs: 1_000,
    async take(request) {
      const tags = [...new Set(request.keys.map(({ key }) => hashTagOf(key).split(":")[0]!))];
      calls.push(tags);
      if (tags.length > 1) throw new StoreError("CROSSSLOT");
      return await memory.take(request);
    },
  };
  const limiter = createLimiter({ policies: POLICIES, store: storeOf(withIsolate(redis)), onDecision() {} });
  return { calls, take: (...names: string[]) => limiter.take(names.map((policy) => ({ policy }))) };
}

it("is asked for all keys at once until it says CROSSSLOT, and slot by slot from then on", async () => {
  const { take, calls } = cluster();
  expect(await take("user")).toMatchObject({ allowed: true, source: "redis" });
  expect(await take("user", "site")).toMatchObject({ allowed: true, source: "redis" });
  expect(calls).toEqual([["user"], ["user", "site"], ["user"], ["site"]]);
  expect(await take("user", "site")).toMatchObject({ allowed: true, limits: [{ remaining: 0 }, { remaining: 3 }] });
  expect(calls.slice(4)).toEqual([["user"], ["site"]]);
});

it("is asked slot by slot beside another place too, from the second decision on", async () => {
  const { take, calls } = cluster((redis) => {
    return splitStore([redis, withIsolate(memoryStore())], (key) => (key.includes("{trial:") ? 1 : 0));
  });
  for (let i = 0; i < 2; i++) expect((await take("user", "site", "trial")).allowed).toBe(true);
  expect(calls).toEqual([["user", "site"], ["user"], ["site"], ["user"], ["site"]]);
});

it("trusts a refusal for 5 s, and as a cluster for 1 s", async () => {
  vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { take } = cluster();
  const sourceAfter = async (ms: number, ...names: string[]) => {
    vi.setSystemTime(Date.now() + ms);
    return (await take(...names)).source;
  };
  for (let i = 0; i < 3; i++) await take("user");
  expect([await sourceAfter(4_999, "user"), await sourceAfter(1, "user")]).toEqual(["cache", "redis"]);
  await take("trial", "site");
  expect(await sourceAfter(1_000, "user", "site")).toBe("redis");
  expect([await sourceAfter(900, "user", "site"), await sourceAfter(101, "user", "site")]).toEqual(["cache", "redis"]);
});
