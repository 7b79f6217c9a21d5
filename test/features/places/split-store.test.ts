// The store that `splitStore` makes, as its other callers see it, and one Redis that turns out to be a cluster.

import { expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { hashTagOf } from "../../../src/kernel/core/layout.ts";
import { ENFORCED, Flag, type KeyRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { splitByHashSlot } from "../../../src/stores/redis-store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";

const limit = { kind: Kind.fixedWindow, limit: 2, windowMs: 60_000 } as const;
const key = (name: string): KeyRequest => ({ key: name, group: ENFORCED, cost: 1, limits: [limit] });
/** Keys that begin with b lie in the second place. */
const placeOf = (name: string) => (name.startsWith("b") ? 1 : 0);

it("is the place itself if there is one", () => {
  const store = memoryStore();
  expect(splitStore([store], () => 0)).toBe(store);
});

it("takes atomically from one place, and from no two", async () => {
  const store = splitStore([memoryStore(), memoryStore()], placeOf);
  expect((await store.take({ keys: [key("a1"), key("a2")], flag: Flag.take })).allowed).toBe(true);
  const both = store.take({ keys: [key("a1"), key("b1")], flag: Flag.take });
  await expect(both).rejects.toMatchObject({ code: "CROSSSLOT", notRun: true });
});

// A Worker opens six connections at once: the budget of a seventh call would run while it waits for one.
it.each<[string, (store: Store) => Promise<unknown>]>([
  ["a PING", (store) => store.ping()],
  ["a reset", (store) => store.reset(Array.from({ length: 24 }, (_, at) => `${at}`))],
])("calls six of 24 places at a time, and all of them although one fails: %s", async (_what, work) => {
  let [open, most, calls] = [0, 0, 0];
  const failure = new StoreError("NETWORK");
  const call = async () => {
    most = Math.max(most, ++open);
    const isFirst = ++calls === 1;
    await Promise.resolve();
    open--;
    if (isFirst) throw failure;
  };
  const place = { ...memoryStore(), ping: call, reset: call };
  const places = Array.from({ length: 24 }, () => place);
  const store = splitStore(places, Number);
  await expect(work(store)).rejects.toBe(failure);
  expect([most, calls]).toEqual([6, 24]);
});

it("is healthy if every place is", async () => {
  const silent: Store = { ...memoryStore(), timeoutMs: 70, breaker: () => "open", ping: () => Promise.reject(gone) };
  const gone = new StoreError("NETWORK");
  const store = splitStore([{ ...memoryStore(), timeoutMs: 50 }, silent], placeOf);
  await expect(store.ping()).rejects.toBe(gone);
  expect([store.breaker!(), store.timeoutMs, store.kind]).toEqual(["open", 70, "memory"]);
  const both = splitStore([memoryStore(), memoryStore()], placeOf);
  await both.ping();
  expect([both.breaker!(), both.timeoutMs]).toEqual(["closed", undefined]);
});

it("refuses what cannot be split", async () => {
  const two = [memoryStore(), memoryStore()];
  expect(() => splitStore([], placeOf)).toThrow("at least one store");
  expect(() => splitStore([splitStore(two, placeOf), memoryStore()], placeOf)).toThrow("a place is one store");
  expect(() => splitStore(two, {} as typeof placeOf)).toThrow("placeOf must be a function");
  const policies = [{ name: "one", key: ["global"], limits: [{ limit: 1, window: "1m" }] }] as const;
  const limiter = createLimiter({ policies, store: splitStore(two, () => 2) });
  await expect(limiter.take("one")).rejects.toThrow("an integer from 0 to 1, found 2");
});

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

it("a Redis is asked for all keys at once until it says CROSSSLOT, and slot by slot from then on", async () => {
  const { take, calls } = cluster();
  expect(await take("user")).toMatchObject({ allowed: true, source: "redis" });
  expect(await take("user", "site")).toMatchObject({ allowed: true, source: "redis" });
  expect(calls).toEqual([["user"], ["user", "site"], ["user"], ["site"]]);
  expect(await take("user", "site")).toMatchObject({ allowed: true, limits: [{ remaining: 0 }, { remaining: 3 }] });
  expect(calls.slice(4)).toEqual([["user"], ["site"]]);
});

it("a cluster is asked slot by slot beside another place too, from the second decision on", async () => {
  const { take, calls } = cluster((redis) => {
    return splitStore([redis, withIsolate(memoryStore())], (key) => (key.includes("{trial:") ? 1 : 0));
  });
  for (let i = 0; i < 2; i++) expect((await take("user", "site", "trial")).allowed).toBe(true);
  expect(calls).toEqual([["user", "site"], ["user"], ["site"], ["user"], ["site"]]);
});

it("a Redis trusts a refusal for 5 s, and as a cluster for 1 s", async () => {
  vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] });
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

it("a refusal that an isolate knows costs no call: a place is asked only while nothing is known of it", async () => {
  const calls: number[] = [];
  const places = [0, 1].map((place) => {
    const memory = memoryStore();
    const take: Store["take"] = (request) => {
      if (request.flag !== Flag.giveBack) calls.push(place);
      return memory.take(request);
    };
    return withIsolate({ ...memory, kind: "redis", take });
  });
  const store = splitStore(places, (key) => (key.includes("{user:") ? 0 : 1));
  const limiter = createLimiter({ policies: POLICIES, store, onDecision() {} });
  const both = [{ policy: "user" }, { policy: "site" }];
  await limiter.take("user", { cost: 3 });
  calls.length = 0;
  for (const asked of [[1], []]) {
    const { source, limits } = await limiter.take(both);
    const names = limits.map(({ policy }) => policy.name);
    expect([source, names, calls.splice(0)]).toEqual(["cache", ["user", "site"], asked]);
  }
  expect((await limiter.peek("site")).remaining).toBe(5);
});
