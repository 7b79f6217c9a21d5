// What requests have begun and not ended, by key: units that are asked for or waited for, and calls without an answer.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag, type KeyRequest } from "../../../src/kernel/core/take.ts";
import { beginCall, beginWaiting, endCall, endWaiting } from "../../../src/kernel/place/calls.ts";
import { type Memory, newMemory, recordOf } from "../../../src/kernel/place/memory.ts";
import { takeAlone } from "../../../src/kernel/place/own-counts.ts";
import { recentPending, unitsAsked, unitsWaiting } from "../../../src/kernel/place/pending.ts";
import { Room } from "../../../src/kernel/place/record.ts";
import { newStoreClock, nowBy } from "../../../src/kernel/place/store-clock.ts";
import { keyRequest } from "../../support/gateway/counter.ts";

const FORGOTTEN_MS = 1_000;
const LIMIT = 100;
const request = (cost = 1): KeyRequest => ({
  ...keyRequest("k", [{ kind: Kind.fixedWindow, limit: LIMIT, windowMs: 60_000 }]),
  cost,
});

/** A call. @returns its number. */
function call(memory: Memory, atMs: number, { cost = 1, needed = 1 } = {}) {
  const number = ++memory.last;
  beginCall(memory, { keys: [request(cost)], flag: Flag.take }, number, atMs, [needed]);
  return number;
}

/** An isolate that knows nothing of the store's clock. */
const nowOf = (localAtMs: number) => nowBy(newStoreClock(), localAtMs, 0);

/** The units and requests without an answer that a decision of the isolate alone counts beside its own. */
function unanswered(memory: Memory, atMs: number, own = 0): number {
  const copy = structuredClone(memory);
  const { keys } = takeAlone(copy, { keys: [request(0)], flag: Flag.take }, nowOf(atMs), own);
  return (keys[0]![0]!.view as unknown as { count: number }).count;
}

it("what never ended costs later requests nothing, though nothing more begins under its key", () => {
  const memory = newMemory();
  for (let i = 0; i < 1_000; i++) beginWaiting(memory, [request()], i / 1_000);
  const record = recordOf(memory, "k")!;
  expect(unitsWaiting(record, 0, FORGOTTEN_MS - 1)).toBe(1_000);
  expect(unitsWaiting(record, 0, FORGOTTEN_MS + 1)).toBe(0);
  // Nothing is left to look at.
  expect(record.pending).toBeUndefined();
});

it("after a step back of the clock each one is forgotten in its own time", () => {
  const memory = newMemory();
  const keys = [request()];
  beginWaiting(memory, keys, 900);
  beginWaiting(memory, [request(10)], 0);
  const record = recordOf(memory, "k")!;
  expect(unitsWaiting(record, 0, 850)).toBe(11);
  expect(unitsWaiting(record, 0, 1_050)).toBe(1);
});

it("what has ended counts no more, and leaves nothing behind", () => {
  const memory = newMemory();
  const [first, second] = [beginWaiting(memory, [request()], 0), beginWaiting(memory, [request(2)], 0)];
  const asked = call(memory, 0);
  const record = recordOf(memory, "k")!;
  expect([unitsWaiting(record, 0, 1), unitsAsked(record, 1)]).toEqual([3, 1]);
  endWaiting(memory, [request()], first);
  expect(unitsWaiting(record, 0, 1)).toBe(2);
  endWaiting(memory, [request()], second);
  endCall(memory, { keys: [request()], flag: Flag.take }, asked, false);
  expect(record).toMatchObject({ pending: undefined, room: Room.far });
});

it("requests that their runtime ended do not pile up under a busy key", () => {
  const memory = newMemory();
  for (let i = 0; i < 100; i++) call(memory, i);
  call(memory, 20_000);
  expect([...recentPending(recordOf(memory, "k")!, "unanswered", 20_000, 10_000)!.values()]).toHaveLength(1);
  // The clock has stepped back: any call that is still remembered would count.
  expect(unanswered(memory, 5_000)).toBe(0);
});

it("a call is remembered for longer than the two budgets within which its answer may come", () => {
  const budgetMs = 30_000;
  const memory = newMemory(budgetMs);
  call(memory, 0);
  expect(unanswered(memory, 2 * budgetMs + 2_000)).toBe(1);
  expect(unanswered(memory, 2 * budgetMs + 10_000)).toBe(0);
});

it("a request counts the units of a call that are for other requests", () => {
  const memory = newMemory();
  const own = call(memory, 0, { cost: 10, needed: 4 });
  expect(unanswered(memory, 1, own)).toBe(6);
  expect(unanswered(memory, 1)).toBe(10);
  // The isolate's own counts charge the caller's 4 units: the call's other 6 count beside them.
  takeAlone(memory, { keys: [request(4)], flag: Flag.take }, nowOf(1), own);
  expect(unanswered(memory, 1)).toBe(10);
  expect(recordOf(memory, "k")!.own!.records).toMatchObject([{ count: 4 }]);
});
