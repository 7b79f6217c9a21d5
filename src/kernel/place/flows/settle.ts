/** Settles what a place has charged: more, or back. Every way to give something back ends here. */

import type { TakeRequest } from "../../core/take.ts";
import { failureOf } from "../../store/failure.ts";
import { wasReset } from "../calls.ts";
import { keysWith, makeCalls, renewal } from "../changes.ts";
import { addDebts } from "../debts.ts";
import { giveBackLater } from "../give-backs.ts";
import type { Memory } from "../memory.ts";
import { takeAlone } from "../own-counts.ts";
import { slotsOf, unitsOf } from "../slots.ts";
import { type Call, type Change, type Charge, keepAlive } from "../taker.ts";
import { restOfBudgetMs } from "../timing.ts";
import { callStore } from "./call.ts";
import { nowAt, type Place } from "./place.ts";

/**
 * Settles, in one call if no key has changes in several buckets. If the store has no answer, the isolate's own counts
 * are settled, an excess that surely was not charged is owed, slots are given back later, and so are units that surely
 * did not go back. Others lapse with their window. Never rejects because of the store.
 */
export async function settle(place: Place, changes: readonly Change[], call: Call): Promise<void> {
  const { memory } = place;
  await makeCalls(sinceReset(memory, changes), memory.isApart, (request) => settleOnce(place, request, call));
}

/** A reset has removed the units. A slot has the number of its request: no other request loses it. */
export function sinceReset(memory: Memory, changes: readonly Change[]): Change[] {
  return changes.map((change) => {
    const isGone = change.back > 0 && wasReset(memory, change.charge.receipt.key, change.charge.since);
    return isGone ? { ...change, back: 0 } : change;
  });
}

/** Settles with one call. */
export async function settleOnce(
  place: Place,
  request: TakeRequest,
  { background, notes, isUndo }: Call,
): Promise<void> {
  const { store, memory, timing } = place;
  const call = ++memory.last;
  const budgetMs = notes && restOfBudgetMs(store.timeoutMs, timing.nowMs(), notes);
  try {
    await callStore(place, request, { background, budgetMs, call });
  } catch (error) {
    const failure = failureOf(error);
    takeAlone(memory, { ...request, keys: unitsOf(request.keys) }, nowAt(place), 0);
    if (failure.notRun) addDebts(memory, keysWith(request, true), timing.nowMs());
    const back = { ...request, keys: keysWith(request, false) };
    const slots = isUndo && !failure.notRun ? slotsOf(back.keys) : [];
    if (slots.length === 0) return giveBackLater(memory, back, failure, timing.nowMs(), call);
    // Nobody knows whether they went back. A slot may be given back once more. The next attempt does not wait for that.
    keepAlive(settleOnce(place, { ...back, keys: slots }, { background }), background);
  }
}

/** Renews slots at the store. Other limits under the same keys do not change. */
export async function renew(place: Place, charges: readonly Charge[], { background }: Call): Promise<boolean> {
  try {
    await callStore(place, renewal(charges), { background });
    return true;
  } catch (error) {
    // The store has no answer now, but it may have one for the next renewal.
    return failureOf(error).code !== "SUBREQUESTS";
  }
}
