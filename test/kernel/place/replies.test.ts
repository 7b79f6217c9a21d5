// Which replies are remembered, and for which use.

import { describe, expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag, type KeyRequest, type TakeReply } from "../../../src/kernel/core/take.ts";
import { forgetCounts } from "../../../src/kernel/place/calls.ts";
import { addDebts } from "../../../src/kernel/place/debts.ts";
import { newMemory } from "../../../src/kernel/place/memory.ts";
import { takeAlone } from "../../../src/kernel/place/own-counts.ts";
import type { KeyReply } from "../../../src/kernel/place/record.ts";
import { lastReply, refusingReply, remember } from "../../../src/kernel/place/replies.ts";
import { nowBy } from "../../../src/kernel/place/store-clock.ts";
import { virtualStore } from "./isolates.ts";

const NOW_MS = 1_700_000_000_000;
const window: LimitSpec = { kind: Kind.fixedWindow, limit: 10, windowMs: 3_600_000 };
const slots: LimitSpec = { kind: Kind.concurrency, limit: 50, timeoutMs: 60_000 };
const keyOf = (cost: number, ...limits: LimitSpec[]): KeyRequest => ({ key: "k", group: ENFORCED, cost, limits });

/** A store, and what is remembered of its replies. Their clocks agree. A call is numbered by its millisecond. */
function memoryOf() {
  const store = virtualStore();
  const memory = newMemory();
  const hear = (keys: readonly KeyRequest[], flag: Flag, reply: TakeReply, sentMs: number, heardMs: number) => {
    memory.last = Math.max(memory.last, heardMs);
    const receivedAtMs = NOW_MS + heardMs;
    remember(memory, { keys, flag }, reply, { receivedAtMs, call: sentMs + 1, heard: heardMs });
  };
  /** @param storeMs when the store decides. @param sentMs when the isolate asks. @param heardMs when it hears. */
  const call = (key: KeyRequest, flag: Flag, storeMs: number, sentMs = storeMs, heardMs = storeMs) =>
    hear([key], flag, store.take([key], flag, NOW_MS + storeMs), sentMs, heardMs);
  /** The counts with which the isolate's own counts begin. They begin once with each reply. */
  const begin = (key: string) => {
    const known = lastReply(memory, key);
    const copy = known && { ...known };
    const look = { keys: [{ ...keyOf(0, window), key }], flag: Flag.look };
    if (known) takeAlone(memory, look, nowBy(memory.clock, NOW_MS, 0), 0);
    return copy;
  };
  return { memory, call, hear, store, begin, refusing: (key: string) => refusingReply(memory, key) };
}

/** The units in the counts that are remembered. */
const unitsOf = (known: KeyReply | undefined) =>
  known && (known.replies[0]!.view as unknown as { count: number }).count;

describe("what is remembered of a key", () => {
  it("is for the own counts always, and refuses only if a limit is close", () => {
    const { call, begin, refusing } = memoryOf();
    call(keyOf(1, window), Flag.take, 0);
    expect(refusing("k")).toBeUndefined();
    call(keyOf(9, window), Flag.take, 1);
    expect(unitsOf(refusing("k"))).toBe(10);
    expect(unitsOf(begin("k"))).toBe(10);
    expect(begin("k")).toBeUndefined();
    expect(unitsOf(refusing("k"))).toBe(10);
  });

  it.each([
    ["two takes", 4, Flag.take, 7],
    ["a take, then an excess", 7, Flag.chargeAnyway, undefined],
  ])("of one millisecond is the newer reply, or refuses nothing: %s", (_, cost, second, refusing) => {
    const { store, hear, refusing: refusingNow } = memoryOf();
    const near: LimitSpec = { ...window, limit: 9 };
    const replies = [
      { flag: Flag.take, reply: store.take([keyOf(cost, near)], Flag.take, NOW_MS) },
      { flag: second, reply: store.take([keyOf(3, near)], second, NOW_MS) },
    ];
    // The older reply comes last.
    for (const { flag, reply } of replies.toReversed()) {
      hear([keyOf(3, near)], flag, reply, 0, 10);
    }
    expect(unitsOf(refusingNow("k"))).toBe(refusing);
  });

  it("is replaced by a later reply of a store whose clock has stepped back", () => {
    const { call, begin } = memoryOf();
    call(keyOf(2, window), Flag.take, 10_000);
    call(keyOf(3, window), Flag.take, 500, 10_001, 10_002);
    expect(unitsOf(begin("k"))).toBe(5);
  });

  it("stays as it is when slots are renewed, and is replaced when a debt is repaid or an excess is charged", () => {
    const { call, begin, refusing } = memoryOf();
    call(keyOf(10, window, slots), Flag.take, 0);
    call(keyOf(1, slots), Flag.chargeAnyway, 1);
    expect(unitsOf(refusing("k"))).toBe(10);
    call(keyOf(4, window), Flag.chargeAnyway, 2);
    expect(unitsOf(refusing("k"))).toBe(14);
    expect(unitsOf(begin("k"))).toBe(14);
  });

  it("of a call with several flags follows the flag of each key", () => {
    const { call, store, hear, begin, refusing } = memoryOf();
    const keys = ["back", "more", "asked"].map((key) => ({ ...keyOf(10, window), key }));
    for (const key of keys) call(key, Flag.take, 0);
    const flags = [Flag.giveBack, Flag.chargeAnyway, Flag.take];
    const mixed = keys.map((key, k) => ({ ...key, cost: k + 1, flag: flags[k]!, atMs: NOW_MS }));
    const reply = store.take(mixed, Flag.giveBack, NOW_MS + 1);
    hear(mixed, Flag.giveBack, reply, 1, 1);
    expect(keys.map(({ key }) => refusing(key)?.storeAtMs)).toEqual([undefined, NOW_MS + 1, NOW_MS + 1]);
    expect(keys.map(({ key }) => unitsOf(begin(key)))).toEqual([9, 12, 10]);
  });

  it("refuses no more when units have come back, unless they are slots, and a later reply refuses again", () => {
    const { call, refusing } = memoryOf();
    call(keyOf(10, window, slots), Flag.take, 0);
    call(keyOf(1, slots), Flag.giveBack, 1);
    expect(unitsOf(refusing("k"))).toBe(10);
    call(keyOf(1, window), Flag.giveBack, 2, 2, 30);
    expect(refusing("k")).toBeUndefined();
    call(keyOf(2, window), Flag.take, 20);
    call(keyOf(0, window), Flag.giveBack, 10, 2, 30);
    expect(refusing("k")).toBeDefined();
  });

  it("refuses nothing if it lacks what the isolate owes: the wait would be too short", () => {
    const { memory, call, refusing } = memoryOf();
    addDebts(memory, [keyOf(1, window)], NOW_MS);
    call(keyOf(10, window), Flag.take, 1);
    expect(refusing("k")).toBeUndefined();
  });

  it("refuses no more after a step of a clock, and the own counts still begin with it; a reset forgets both", () => {
    const { memory, call, begin, refusing } = memoryOf();
    call(keyOf(10, window), Flag.take, 0);
    memory.step = ++memory.last;
    expect(refusing("k")).toBeUndefined();
    expect(unitsOf(begin("k"))).toBe(10);
    call(keyOf(0, window), Flag.look, 1);
    forgetCounts(memory, ["k"]);
    expect([refusing("k"), begin("k")]).toEqual([undefined, undefined]);
  });
});
