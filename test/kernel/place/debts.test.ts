// Debts: units that were admitted although the store is known not to have counted them. They are charged once, when the
// store answers again.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag, type KeyRequest, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { forgetCounts, voidKeys } from "../../../src/kernel/place/calls.ts";
import { addDebts, debtsOf } from "../../../src/kernel/place/debts.ts";
import type { Place } from "../../../src/kernel/place/flows/place.ts";
import { repayDebts } from "../../../src/kernel/place/flows/repay.ts";
import { newMemory, recordOf } from "../../../src/kernel/place/memory.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { recordingStore } from "../../support/redis/stores.ts";

const minute: LimitSpec = { kind: Kind.fixedWindow, limit: 100, windowMs: 60_000 };
const hour: LimitSpec = { kind: Kind.weighted, limit: 1_000, bucketMs: 3_600_000, buckets: 1 };
const slots: LimitSpec = { kind: Kind.concurrency, limit: 5, timeoutMs: 60_000 };
const bucket: LimitSpec = { kind: Kind.bucket, limit: 100, windowMs: 60_000, burst: 20, maxDelayMs: 0 };
const NOW_MS = 1_700_000_000_000;

/** The units charged under each key, as `a 3`. */
function charges({ takes }: { takes: readonly TakeRequest[] }): string[] {
  return takes.flatMap(({ keys, flag }) => {
    expect(flag).toBe(Flag.chargeAnyway);
    return keys.map(({ key, cost }) => `${key} ${cost}`);
  });
}
const one = (key: string, limits: readonly LimitSpec[] = [minute], more: Partial<KeyRequest> = {}) => [
  keyRequest(key, limits, more),
];
const failing = (error: Error): Store => ({ ...memoryStore(), take: () => Promise.reject(error) });

/** The debts of an isolate that has noted nothing else. */
function createDebts() {
  const memory = newMemory();
  /** The number of the last call before the debts. */
  const before = memory.last;
  return {
    add: (keys: readonly KeyRequest[], nowMs: number) => addDebts(memory, keys, nowMs),
    repay(store: Store, nowMs: number) {
      const timing = { nowMs: () => nowMs, sleep: async () => {} };
      const place: Place = {
        store,
        memory,
        timing,
        random: () => 0,
        wraps: [],
        trustedMs: () => 0,
        reportBug: () => expect.unreachable(),
      };
      return repayDebts(place);
    },
    /** What counts that were asked for before all debts lack. */
    units: (key: string, nowMs: number) =>
      debtsOf(recordOf(memory, key)!, nowMs, (number) => number > before).reduce((sum, { units }) => sum + units, 0),
    /** What the isolate has sent of a key. */
    sent: (key: string) => recordOf(memory, key)!.sent,
    reset(keys: readonly string[]) {
      voidKeys(memory, keys);
      forgetCounts(memory, keys);
    },
    get size() {
      return memory.owing.size;
    },
    memory,
  };
}

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

it("sums what each key owes, charges it in one call, and nothing twice", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (let i = 0; i < 3; i++) owed.add([...one("a"), ...one("b", [minute], { cost: 2 })], NOW_MS);
  await Promise.all([owed.repay(store, NOW_MS), owed.repay(store, NOW_MS)]);
  await owed.repay(store, NOW_MS);
  expect(store.takes).toHaveLength(1);
  expect(charges(store)).toEqual(["a 3", "b 6"]);
});

it("leaves out policies in shadow, looks, and slots of requests in flight", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  owed.add(one("shadow", [minute], { group: ENFORCED + 1 }), NOW_MS);
  owed.add(one("look", [minute], { cost: 0 }), NOW_MS);
  owed.add(one("slots", [slots]), NOW_MS);
  expect(owed.size).toBe(0);
  owed.add(one("both", [slots, minute]), NOW_MS);
  await owed.repay(store, NOW_MS);
  expect(store.takes.map(({ keys }) => keys.map(({ limits }) => limits))).toEqual([[[minute]]]);
});

it("charges what was admitted under the larger of two numbers", async () => {
  const few = { ...minute, limit: 3 };
  for (const order of [
    [few, minute],
    [minute, few],
  ]) {
    const [owed, store] = [createDebts(), recordingStore()];
    for (const limit of order) owed.add(one("a", [limit], { cost: limit === few ? 2 : 60 }), NOW_MS);
    await owed.repay(store, NOW_MS);
    expect(charges(store)).toEqual(["a 62"]);
  }
});

it.each([
  [59_999, ["a 7"]],
  [80_000, []],
])("charges no more than still counts: after %i ms %j", async (afterMs, expected) => {
  const [owed, store] = [createDebts(), recordingStore()];
  owed.add(one("a", [minute], { cost: 7 }), NOW_MS);
  await owed.repay(store, NOW_MS + afterMs);
  expect(charges(store)).toEqual(expected);
  expect(owed.size).toBe(0);
});

it.each<[string, LimitSpec[], number]>([
  ["one limit", [minute], 100],
  ["the smallest of several", [hour, minute], 100],
  ["a bucket", [bucket, hour], 20],
  ["a leaky bucket, with what waits in it,", [{ ...bucket, maxDelayMs: 6_000 }, hour], 30],
])("charges no more than %s holds", async (_what, limits, most) => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (let i = 0; i < 5; i++) owed.add(one("a", limits, { cost: 60 }), NOW_MS);
  await owed.repay(store, NOW_MS);
  expect(charges(store)).toEqual([`a ${most}`]);
});

it("remembers 1,000 keys, those charged last, and charges 50 of them in a call, oldest first", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (let i = 0; i < 1_001; i++) owed.add(one(`key-${i}`), NOW_MS);
  owed.add(one("key-1"), NOW_MS);
  owed.add(one("new"), NOW_MS);
  expect(owed.size).toBe(1_000);
  await owed.repay(store, NOW_MS);
  expect(store.takes[0]!.keys).toHaveLength(50);
  expect(store.takes[0]!.keys[0]!.key).toBe("key-3");
  while (owed.size > 0) await owed.repay(store, NOW_MS);
  expect(charges(store).slice(-2)).toEqual(["key-1 2", "new 1"]);
});

it("is not charged again when the repayment may have run, or when the command itself is refused", async () => {
  const mayHaveRun = [new StoreError("TIMEOUT"), new StoreError("NETWORK"), new StoreError("REDIS", "ERR")];
  for (const error of [...mayHaveRun, new StoreError("CROSSSLOT")]) {
    const owed = createDebts();
    owed.add(one("a"), NOW_MS);
    await owed.repay(failing(error), NOW_MS);
    expect(owed.size).toBe(0);
  }
});

it("is charged key by key when the keys lie in several slots of a Redis Cluster", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (const key of ["a", "b", "c"]) owed.add(one(key), NOW_MS);
  await owed.repay(failing(new StoreError("CROSSSLOT")), NOW_MS);
  expect(owed.size).toBe(3);
  while (owed.size > 0) await owed.repay(store, NOW_MS);
  expect(charges(store)).toEqual(["a 1", "b 1", "c 1"]);
  expect(store.takes.map(({ keys }) => keys.length)).toEqual([1, 1, 1]);
});

it("of one key that the store rejects costs the others nothing: they are charged without it", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  const calls: number[] = [];
  // An older object meets a new kind of limit.
  const take: Store["take"] = async (request) => {
    calls.push(request.keys.length);
    if (request.keys.some(({ key }) => key === "new")) throw new StoreError("REJECTED");
    return await store.take(request);
  };
  const older = { ...store, take };
  for (const key of ["a", "new", "b", "c", "d"]) owed.add(one(key), NOW_MS);
  while (owed.size > 0) await owed.repay(older, NOW_MS);
  expect(charges(store)).toEqual(["a 1", "b 1", "c 1", "d 1"]);
  // Once that key is found, the others are charged together again.
  expect(calls).toEqual([5, 1, 1, 3]);
});

it("is charged later when the repayment is known not to have run", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  owed.add(one("a"), NOW_MS);
  const refused = owed.repay(failing(new StoreError("OPEN")), NOW_MS);
  // Another request adds a debt while the repayment is under way.
  owed.add(one("a", [minute], { cost: 2 }), NOW_MS);
  await refused;
  await owed.repay(store, NOW_MS);
  expect(charges(store)).toEqual(["a 3"]);
});

it("shows a bug on the console, and charges nothing again that may have run", async () => {
  const written = vi.spyOn(console, "error").mockImplementation(() => {});
  const [owed, bug] = [createDebts(), new RangeError("a bug")];
  owed.add(one("a"), NOW_MS);
  await owed.repay(failing(bug), NOW_MS);
  expect(written.mock.calls).toEqual([["headgate: the store threw", bug]]);
  expect(owed.size).toBe(0);
  written.mockRestore();
});

it.each([
  ...["MOVED", "ASK", "TRYAGAIN"].map((word) => new StoreError("REDIS", word)),
  // Another request may repay it.
  new StoreError("SUBREQUESTS"),
])(
  "after one passing %s debts are still owed: 50 of them are charged in one call with the next reply",
  async (error) => {
    const [owed, store] = [createDebts(), recordingStore()];
    for (let i = 0; i < 50; i++) owed.add(one(`key-${i}`), NOW_MS);
    await owed.repay(failing(error), NOW_MS);
    await owed.repay(store, NOW_MS);
    expect([store.takes.length, charges(store).length, charges(store).at(-1)]).toEqual([1, 50, "key-49 1"]);
  },
);

it("keys are charged together again once each key of a refused call was tried by itself", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (const key of ["a", "b", "c"]) owed.add(one(key), NOW_MS);
  await owed.repay(failing(new StoreError("REJECTED")), NOW_MS);
  while (owed.size > 0) await owed.repay(store, NOW_MS);
  for (const key of ["a", "b", "c"]) owed.add(one(key), NOW_MS);
  await owed.repay(store, NOW_MS);
  expect(store.takes.map(({ keys }) => keys.length)).toEqual([1, 1, 1, 3]);
});

it("is put back with its instants when the repayment is known not to have run", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (let i = 0; i < 3; i++) owed.add(one("a", [bucket], { cost: 15 }), NOW_MS);
  await owed.repay(failing(new StoreError("OPEN")), NOW_MS);
  expect(owed.units("a", NOW_MS)).toBe(45);
  await owed.repay(failing(new StoreError("OPEN")), NOW_MS + 50_000);
  expect(owed.units("a", NOW_MS + 59_999)).toBe(45);
  await owed.repay(store, NOW_MS + 80_000);
  expect(store.takes).toEqual([]);
});

it("is put back beside what is owed meanwhile of another period", async () => {
  const owed = createDebts();
  const day: LimitSpec = { kind: Kind.calendar, limit: 20, window: "day", zone: "UTC", firstDay: 1 };
  const tomorrowMs = NOW_MS + 86_400_000;
  const store = failing(new StoreError("OPEN"));
  const take: Store["take"] = (request) => {
    owed.add(one("a", [day], { cost: 2 }), tomorrowMs);
    return store.take(request);
  };
  owed.add(one("a", [day], { cost: 5 }), NOW_MS);
  await owed.repay({ ...store, take }, NOW_MS);
  const { debts } = recordOf(owed.memory, "a")!.own!;
  expect(debts.map(({ limits, record }) => [limits[0]!.atMs, Math.max(...record.counts)])).toEqual([
    [NOW_MS, 5],
    [tomorrowMs, 2],
  ]);
});

it("a repayment that surely did not run was not sent", async () => {
  const debts = createDebts();
  debts.add(one("k", [minute], { cost: 7 }), NOW_MS);
  await debts.repay(failing(new StoreError("REDIS", "MOVED")), NOW_MS);
  expect(debts.sent("k")).toBe(0);
  await debts.repay(memoryStore(), NOW_MS);
  expect(debts.sent("k")).toBe(7);
});
