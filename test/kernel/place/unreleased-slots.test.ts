// Slots that are given back when the store answers again.

import { expect, it, vi } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag, type KeyRequest, replyOf } from "../../../src/kernel/core/take.ts";
import { voidKeys } from "../../../src/kernel/place/calls.ts";
import type { Place } from "../../../src/kernel/place/flows/place.ts";
import { giveBack, tellAfterReply } from "../../../src/kernel/place/flows/repay.ts";
import { giveBackLater } from "../../../src/kernel/place/give-backs.ts";
import { newMemory } from "../../../src/kernel/place/memory.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { keyRequest } from "../../support/gateway/counter.ts";

const limits = [{ kind: Kind.concurrency, limit: 1, timeoutMs: 60_000 }] as const;
const keys = [{ ...keyRequest("k", limits), limits }];
const failing = (...words: ConstructorParameters<typeof StoreError>): Store => {
  return { ...memoryStore(), take: () => Promise.reject(new StoreError(...words)) };
};

/** Slots that an isolate must give back, and has noted nothing else. */
function createUnreleasedSlots() {
  const memory = newMemory();
  const placeOf = (store: Store, nowMs: number): Place => ({
    store,
    memory,
    timing: { nowMs: () => nowMs, sleep: async () => {} },
    random: () => 0,
    wraps: [],
    trustedMs: () => 0,
    reportBug: () => expect.unreachable(),
  });
  return {
    add: (keys: readonly KeyRequest[], slot: number, nowMs: number) =>
      giveBackLater(memory, { keys, flag: Flag.giveBack, slot }, { notRun: false }, nowMs),
    giveBack: (store: Store, keys: readonly KeyRequest[]) =>
      giveBack(placeOf(store, 0), { keys, flag: Flag.giveBack, slot: 0 }),
    reset: (key: string) => voidKeys(memory, [key]),
    async release(store: Store, nowMs: number) {
      const works: Promise<unknown>[] = [];
      tellAfterReply(
        placeOf(store, nowMs),
        { isLate: false, isTelling: false },
        { waitUntil: (work: Promise<unknown>) => void works.push(work) },
      );
      await Promise.all(works);
    },
    get size() {
      return memory.giveBacks.length;
    },
  };
}

it.each([
  ["TIMEOUT", 1],
  ["SUBREQUESTS", 1],
  ["REDIS", 1, "MOVED"],
  ["REDIS", 1, "ASK"],
  ["REDIS", 1, "TRYAGAIN"],
  ["CROSSSLOT", 0],
] as const)("a slot waits on after %s if a later request may give it back", async (code, waiting, word = undefined) => {
  const unreleased = createUnreleasedSlots();
  unreleased.add(keys, 1, 0);
  await unreleased.release(failing(code, word), 0);
  expect(unreleased.size).toBe(waiting);
});

it("a slot waits until its timeout, however often it cannot be given back", async () => {
  const unreleased = createUnreleasedSlots();
  unreleased.add(keys, 1, 0);
  for (let atMs = 0; atMs < 60_000; atMs += 10_000) await unreleased.release(failing("TIMEOUT"), atMs);
  expect(unreleased.size).toBe(1);
  await unreleased.release(failing("TIMEOUT"), 60_000);
  expect(unreleased.size).toBe(0);
});

it.each(["CROSSSLOT", "REJECTED"] as const)(
  "slots of several keys are given back one by one after %s",
  async (code) => {
    const two = ["{a}", "{b}"].map((key) => ({ ...keys[0]!, key }));
    const unreleased = createUnreleasedSlots();
    unreleased.add(two, 1, 0);
    await unreleased.release(failing(code), 0);
    const given: string[][] = [];
    const take: Store["take"] = async (request) => {
      given.push(request.keys.map(({ key }) => key));
      const keyReplies = request.keys.map(() => [{ refused: false, view: { kind: Kind.concurrency, inFlight: 0 } }]);
      return replyOf(request, 0, keyReplies);
    };
    await unreleased.release({ ...memoryStore(), take }, 0);
    expect(given).toEqual([["{a}"], ["{b}"]]);
    expect(unreleased.size).toBe(0);
  },
);

it("what a reset has removed while it could not be given back is not given back later", async () => {
  const units = [keyRequest("k", [{ kind: Kind.fixedWindow, limit: 5, windowMs: 60_000 }])];
  const unreleased = createUnreleasedSlots();
  const { take } = failing("REDIS", "MOVED");
  const calls = vi.fn(take);
  const resetting: Store["take"] = async (request) => {
    unreleased.reset("k");
    return await calls(request);
  };
  await unreleased.giveBack({ ...memoryStore(), take: resetting }, units);
  await unreleased.release({ ...memoryStore(), take: calls }, 0);
  expect(calls).toHaveBeenCalledTimes(1);
});
