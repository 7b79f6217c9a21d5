/** Tells the store what it missed while it had no answer: debts, and slots that were not given back. */

import type { Source } from "../../core/decision.ts";
import { Flag, type KeyRequest } from "../../core/take.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import { beginRepayment, endRepayment, refuseRepayment, undoRepayment } from "../debts.ts";
import type { UnreleasedSlots } from "../memory.ts";
import type { Background } from "../reply-source.ts";
import { putBackUnreleased, takeUnreleased } from "../slots.ts";
import { callStore } from "./call.ts";
import type { Place } from "./place.ts";

/**
 * A request has its answer: if the store itself has given it, tells the store some of what it missed. An answer from
 * memory or from leased units shows nothing about the store. A repayment must not be the probe of an open breaker
 * either: without a reply nobody knows whether it ran, and the debts would be lost.
 */
export function repayAfter(place: Place, source: Source, background: Background | undefined): void {
  const { store, memory, timing } = place;
  if (source !== store.kind || store.breaker?.() === "open") return;
  const work: Promise<unknown>[] = takeUnreleased(memory, timing.nowMs()).map((one) => release(place, one));
  if (memory.owing.size > 0) work.push(repayDebts(place));
  if (work.length > 0) background?.waitUntil(Promise.all(work));
}

/**
 * Charges some of the debts, in one call at most. Never rejects because of the store.
 *
 * @param most how many keys. Default: `keysPerRepayment`. @param looks keys of cost 0, whose counts the same call asks
 * for. Those for which it has room are taken out. @returns why the store has no answer. undefined: it has one, or there
 * was nothing to call for.
 */
export async function repayDebts(
  place: Place,
  most: number = place.memory.keysPerRepayment,
  looks: KeyRequest[] = [],
): Promise<StoreFailure | undefined> {
  const { memory, timing } = place;
  const { telling } = memory;
  const nowMs = timing.nowMs();
  const { number, keys: debts } = beginRepayment(memory, nowMs, most);
  const keys = [...debts, ...looks.splice(0, most - debts.length)];
  if (keys.length === 0) return undefined;
  try {
    await callStore(place, { keys, flag: Flag.chargeAnyway }, { call: number });
  } catch (error) {
    const failure = failureOf(error);
    const { notRun, isReply, code, timeout } = failure;
    // While nobody knows whether the store answers, a second call could be lost too.
    if (!isReply) telling.isUnsure = true;
    // Without a reply nobody knows whether the store has charged it. It is not charged again.
    if (!notRun && !(await timeout?.answer)) return failure;
    if (notRun) {
      // After SUBREQUESTS, another request may still make calls.
      if (isReply && code !== "SUBREQUESTS") refuseRepayment(memory, number, nowMs, keys.length === 1);
      else undoRepayment(memory, number, nowMs);
      return failure;
    }
  }
  telling.isUnsure = false;
  endRepayment(memory, number);
  return undefined;
}

/** Gives slots back. Giving back a slot that was never taken does nothing. Never rejects because of the store. */
export async function release(place: Place, slots: UnreleasedSlots): Promise<void> {
  try {
    await callStore(place, { keys: slots.keys, flag: Flag.giveBack, slot: slots.slot });
  } catch (error) {
    const { isReply, code } = failureOf(error);
    // After SUBREQUESTS, another request may still make calls.
    putBackUnreleased(place.memory, slots, isReply && code !== "SUBREQUESTS");
  }
}
