// Which replies are remembered, and for which use: what newer-counts and late-replies do not come to.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag } from "../../../src/kernel/core/take.ts";
import { addDebts } from "../../../src/kernel/place/debts.ts";
import { newMemory } from "../../../src/kernel/place/memory.ts";
import { refusingReply, remember } from "../../../src/kernel/place/replies.ts";
import { virtualStore } from "./isolates.ts";

const NOW_MS = 1_700_000_000_000;
const window: LimitSpec = { kind: Kind.fixedWindow, limit: 10, windowMs: 3_600_000 };
const slots: LimitSpec = { kind: Kind.concurrency, limit: 50, timeoutMs: 60_000 };

/** An isolate, and whether a key is refused after a call. */
function remembering() {
  const [store, memory] = [virtualStore(), newMemory()];
  /** @param storeMs when the store decides; then when the call is sent, and its reply heard. */
  function isRefusing(
    cost: number,
    limits: LimitSpec[],
    flag: Flag,
    storeMs: number,
    sentMs = storeMs,
    heardMs = storeMs,
  ) {
    const keys = [{ key: "k", group: ENFORCED, cost, limits }];
    memory.last = Math.max(memory.last, heardMs);
    const times = { receivedAtMs: NOW_MS + heardMs, call: sentMs + 1, heard: heardMs };
    remember(memory, { keys, flag }, store.take(keys, flag, NOW_MS + storeMs), times);
    return refusingReply(memory, "k") !== undefined;
  }
  return { memory, isRefusing };
}

it("a reply refuses if a limit is close, unless it lacks what the isolate owes: the wait would be too short", () => {
  const [near, owing] = [remembering(), remembering()];
  expect(near.isRefusing(1, [window], Flag.take, 0)).toBe(false);
  expect(near.isRefusing(9, [window], Flag.take, 1)).toBe(true);
  addDebts(owing.memory, [{ key: "k", group: ENFORCED, cost: 1, limits: [window] }], NOW_MS);
  expect(owing.isRefusing(10, [window], Flag.take, 1)).toBe(false);
});

it("refuses no more when units have come back, unless they are slots, and a later reply refuses again", () => {
  const { isRefusing } = remembering();
  expect(isRefusing(10, [window, slots], Flag.take, 0)).toBe(true);
  expect(isRefusing(1, [slots], Flag.giveBack, 1)).toBe(true);
  expect(isRefusing(1, [window], Flag.giveBack, 2, 2, 30)).toBe(false);
  isRefusing(2, [window], Flag.take, 20);
  expect(isRefusing(0, [window], Flag.giveBack, 10, 2, 30)).toBe(true);
});
