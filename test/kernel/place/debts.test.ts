// Debts: units that were admitted although the store is known not to have counted them. They are charged once, when the
// store answers again. Slots are given back then.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag, type KeyRequest, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { forgetCounts, voidKeys } from "../../../src/kernel/place/calls.ts";
import { addDebts, debtsOf } from "../../../src/kernel/place/debts.ts";
import type { Place } from "../../../src/kernel/place/flows/place.ts";
import { giveBack, repayDebts, tellAfterReply } from "../../../src/kernel/place/flows/repay.ts";
import { giveBackLater } from "../../../src/kernel/place/give-backs.ts";
import { newMemory, recordOf } from "../../../src/kernel/place/memory.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { failingStore, recordingStore } from "../../support/redis/stores.ts";

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

/** The debts and slots of an isolate that has noted nothing else. */
function createDebts() {
  const memory = newMemory();
  /** The number of the last call before the debts. */
  const before = memory.last;
  const placeOf = (store: Store, nowMs: number): Place => ({
    store,
    memory,
    timing: { nowMs: () => nowMs, sleep: async () => {} },
    random: () => 0,
    wraps: [],
    ending: { calls: 0, isClosed: false },
    trustedMs: () => 0,
    reportBug: () => expect.unreachable(),
  });
  return {
    add: (keys: readonly KeyRequest[], nowMs = NOW_MS) => addDebts(memory, keys, nowMs),
    repay: (store: Store, nowMs = NOW_MS) => repayDebts(placeOf(store, nowMs)),
    /** What counts that were asked for before all debts lack. */
    units: (key: string, nowMs: number) =>
      debtsOf(recordOf(memory, key)!, nowMs, (number) => number > before).reduce((sum, { units }) => sum + units, 0),
    get size() {
      return memory.owing.size;
    },
    memory,
    addSlot: (keys: readonly KeyRequest[]) =>
      giveBackLater(memory, { keys, flag: Flag.giveBack, slot: 1 }, { notRun: false }, 0),
    async release(store: Store, nowMs = 0) {
      const works: Promise<unknown>[] = [];
      const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
      tellAfterReply(placeOf(store, nowMs), { isLate: false, isTelling: false }, background);
      await Promise.all(works);
      return memory.giveBacks.length;
    },
    giveBack: (store: Store, keys: readonly KeyRequest[]) =>
      giveBack(placeOf(store, 0), { keys, flag: Flag.giveBack, slot: 0 }),
  };
}

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));

it("sums what each key owes, charges it in one call, and nothing twice", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (let i = 0; i < 3; i++) owed.add([...one("a"), ...one("b", [minute], { cost: 2 })]);
  await Promise.all([owed.repay(store), owed.repay(store)]);
  await owed.repay(store);
  expect(store.takes).toHaveLength(1);
  expect(charges(store)).toEqual(["a 3", "b 6"]);
});

it("leaves out policies in shadow, looks, and slots of requests in flight", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  owed.add(one("shadow", [minute], { group: ENFORCED + 1 }));
  owed.add(one("look", [minute], { cost: 0 }));
  owed.add(one("slots", [slots]));
  expect(owed.size).toBe(0);
  owed.add(one("both", [slots, minute]));
  await owed.repay(store);
  expect(store.takes.map(({ keys }) => keys.map(({ limits }) => limits))).toEqual([[[minute]]]);
});

it.each([
  [59_999, ["a 7"]],
  [80_000, []],
])("charges no more than still counts: after %i ms %j", async (afterMs, expected) => {
  const [owed, store] = [createDebts(), recordingStore()];
  owed.add(one("a", [minute], { cost: 7 }));
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
  for (let i = 0; i < 5; i++) owed.add(one("a", limits, { cost: 60 }));
  await owed.repay(store);
  expect(charges(store)).toEqual([`a ${most}`]);
});

it("remembers 1,000 keys, those charged last, and charges 50 of them in a call, oldest first", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (let i = 0; i < 1_001; i++) owed.add(one(`key-${i}`));
  owed.add(one("key-1"));
  owed.add(one("new"));
  expect(owed.size).toBe(1_000);
  await owed.repay(store);
  expect(store.takes[0]!.keys).toHaveLength(50);
  expect(store.takes[0]!.keys[0]!.key).toBe("key-3");
  while (owed.size > 0) await owed.repay(store);
  expect(charges(store).slice(-2)).toEqual(["key-1 2", "new 1"]);
});

it.each([
  ...(["TIMEOUT", "NETWORK", "MALFORMED_REPLY"] as const).map((code) => new StoreError(code)),
  new StoreError("REDIS", "ERR"),
  // The command itself is refused.
  ...[new StoreError("CROSSSLOT"), new RangeError("a bug")],
])("is not charged again after %s: it may have run, and a bug is shown on the console", async (error) => {
  const written = vi.spyOn(console, "error").mockImplementation(() => {});
  const owed = createDebts();
  owed.add(one("a"));
  await owed.repay(failingStore(error));
  expect(owed.size).toBe(0);
  const isBug = error instanceof RangeError;
  expect(written.mock.calls).toEqual(isBug ? [["headgate: the store threw", error]] : []);
});

it.each([
  ["CROSSSLOT", "", 1],
  ["REJECTED", ", and then together again", 3],
] as const)("is charged key by key after %s%s", async (code, _, together) => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (const key of ["a", "b", "c"]) owed.add(one(key));
  await owed.repay(failingStore(code));
  expect(owed.size).toBe(3);
  while (owed.size > 0) await owed.repay(store);
  expect(charges(store)).toEqual(["a 1", "b 1", "c 1"]);
  for (const key of ["a", "b", "c"]) owed.add(one(key));
  await owed.repay(store);
  expect(store.takes.map(({ keys }) => keys.length)).toEqual([1, 1, 1, together]);
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
  for (const key of ["a", "new", "b", "c", "d"]) owed.add(one(key));
  while (owed.size > 0) await owed.repay({ ...store, take });
  expect(charges(store)).toEqual(["a 1", "b 1", "c 1", "d 1"]);
  // Once that key is found, the others are charged together again.
  expect(calls).toEqual([5, 1, 1, 3]);
});

it("is charged later when the repayment is known not to have run, which was not sent then", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  owed.add(one("a"));
  const refused = owed.repay(failingStore("OPEN"));
  // Another request adds a debt while the repayment is under way.
  owed.add(one("a", [minute], { cost: 2 }));
  await refused;
  expect(recordOf(owed.memory, "a")!.sent).toBe(0);
  await owed.repay(store);
  expect(charges(store)).toEqual(["a 3"]);
  expect(recordOf(owed.memory, "a")!.sent).toBe(3);
});

it.each([
  ...["MOVED", "ASK", "TRYAGAIN"].map((word) => new StoreError("REDIS", word)),
  // Another request, or the same with another token, may repay it.
  ...[new StoreError("SUBREQUESTS"), new StoreError("UNAUTHORIZED")],
])("after one passing %s 50 debts are still charged in one call with the next reply", async (error) => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (let i = 0; i < 50; i++) owed.add(one(`key-${i}`));
  await owed.repay(failingStore(error));
  await owed.repay(store);
  expect([store.takes.length, charges(store).length, charges(store).at(-1)]).toEqual([1, 50, "key-49 1"]);
});

it("is put back with its instants when the repayment is known not to have run", async () => {
  const [owed, store] = [createDebts(), recordingStore()];
  for (let i = 0; i < 3; i++) owed.add(one("a", [bucket], { cost: 15 }));
  await owed.repay(failingStore("OPEN"));
  expect(owed.units("a", NOW_MS)).toBe(45);
  await owed.repay(failingStore("OPEN"), NOW_MS + 50_000);
  expect(owed.units("a", NOW_MS + 59_999)).toBe(45);
  await owed.repay(store, NOW_MS + 80_000);
  expect(store.takes).toEqual([]);
});

it("is put back beside what is owed meanwhile of another period", async () => {
  const owed = createDebts();
  const day: LimitSpec = { kind: Kind.calendar, limit: 20, window: "day", zone: "UTC", firstDay: 1 };
  const tomorrowMs = NOW_MS + 86_400_000;
  const store = failingStore("OPEN");
  const take: Store["take"] = (request) => {
    owed.add(one("a", [day], { cost: 2 }), tomorrowMs);
    return store.take(request);
  };
  owed.add(one("a", [day], { cost: 5 }));
  await owed.repay({ ...store, take });
  const { debts } = recordOf(owed.memory, "a")!.own!;
  expect(debts.map(({ limits, record }) => [limits[0]!.atMs, Math.max(...record.counts)])).toEqual([
    [NOW_MS, 5],
    [tomorrowMs, 2],
  ]);
});

describe("a slot", () => {
  it.each([
    ["TIMEOUT", 1],
    ["SUBREQUESTS", 1],
    ["REDIS", 1, "MOVED"],
    ["REDIS", 1, "ASK"],
    ["REDIS", 1, "TRYAGAIN"],
    ["CROSSSLOT", 0],
  ] as const)("waits on after %s if a later request may give it back", async (code, waiting, word = undefined) => {
    const held = createDebts();
    held.addSlot(one("k", [slots]));
    expect(await held.release(failingStore(new StoreError(code, word)))).toBe(waiting);
  });

  it("waits until its timeout, however often it cannot be given back", async () => {
    const held = createDebts();
    held.addSlot(one("k", [slots]));
    for (let atMs = 0; atMs < 60_000; atMs += 10_000) expect(await held.release(failingStore("TIMEOUT"), atMs)).toBe(1);
    expect(await held.release(failingStore("TIMEOUT"), 60_000)).toBe(0);
  });

  it.each(["CROSSSLOT", "REJECTED"] as const)("of several keys is given back one by one after %s", async (code) => {
    const [held, store] = [createDebts(), recordingStore()];
    held.addSlot([...one("{a}", [slots]), ...one("{b}", [slots])]);
    await held.release(failingStore(code));
    expect(await held.release(store)).toBe(0);
    expect(store.takes.map(({ keys }) => keys.map(({ key }) => key))).toEqual([["{a}"], ["{b}"]]);
  });

  it("or units that a reset has removed meanwhile are not given back later", async () => {
    const held = createDebts();
    const calls = vi.fn(failingStore(new StoreError("REDIS", "MOVED")).take);
    const resetting: Store["take"] = async (request) => {
      voidKeys(held.memory, ["k"]);
      forgetCounts(held.memory, ["k"]);
      return await calls(request);
    };
    await held.giveBack({ ...memoryStore(), take: resetting }, one("k"));
    await held.release({ ...memoryStore(), take: calls });
    expect(calls).toHaveBeenCalledTimes(1);
  });
});
