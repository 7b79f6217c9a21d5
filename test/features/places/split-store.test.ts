// The store that `splitStore` makes, as its other callers see it: health, and whoever calls it without a limiter.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { ENFORCED, Flag, type KeyRequest } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../../src/limiter.ts";
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
