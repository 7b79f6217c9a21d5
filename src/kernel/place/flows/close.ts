/** The program ends: the store hears what it is owed, and gets back what the isolate holds beyond its requests. */

import { Flag, type Receipt } from "../../core/take.ts";
import { keepingAlive, LONGEST_TIMER_MS } from "../../sleep.ts";
import { KEYS_PER_TELLING as KEYS_AT_ONCE } from "../telling.ts";
import type { Place } from "./place.ts";
import { giveBack, giveBackSome, repayDebts } from "./repay.ts";

/** How often to look whether the calls under way have ended, in ms. */
const LOOK_EVERY_MS = 5;
/** Calls that tell what is owed, beyond one for each key. */
const CALLS_BEYOND = 5;

/**
 * Tries a few times at most what is owed: a store that does not answer is not waited for. Never rejects.
 *
 * @param withinMs what takes longer goes on, and nobody waits for it.
 */
export async function closePlace(place: Place, withinMs: number): Promise<void> {
  const { timing, ending } = place;
  ending.isClosed = true;
  const part = (of: number) => timing.sleep(Math.min(withinMs, LONGEST_TIMER_MS) * of, true);
  const whole = part(1);
  await keepingAlive(Promise.race([settleAll(place, [part(0.5), whole]).catch(place.reportBug), whole]));
}

/** @param ends when half of the time is over, and all of it. */
async function settleAll(place: Place, ends: readonly Promise<void>[]): Promise<void> {
  const { ending, timing } = place;
  for (const end of ends) {
    let isOver = false;
    void end.then(() => {
      isOver = true;
    });
    // An answer may bring units that are held, or say that something is owed. A server that goes on to serve has always
    // a call under way.
    while (ending.calls > 0 && !isOver) await timing.sleep(LOOK_EVERY_MS, true);
    await sendRest(place);
    if (ending.calls === 0) return;
  }
}

async function sendRest(place: Place): Promise<void> {
  const { memory, wraps } = place;
  for (let rest = wraps.flatMap((wrap) => wrap.handOver?.(place) ?? []); rest.length > 0; ) {
    const call = new Map<string, Receipt>();
    // No key may be in one call twice.
    rest = rest.filter((one) => {
      if (call.size === KEYS_AT_ONCE || call.has(one.key)) return true;
      call.set(one.key, one);
      return false;
    });
    await giveBack(place, { keys: [...call.values()], flag: Flag.giveBack });
  }
  // A key may owe units of several periods, and each that the store refuses is tried alone.
  for (let tries = memory.owing.size + CALLS_BEYOND; tries > 0 && memory.owing.size > 0; tries--) {
    const failure = await repayDebts(place, KEYS_AT_ONCE);
    if (failure && !failure.isReply) break;
  }
  // What fails goes back to the end.
  for (let left = Number.POSITIVE_INFINITY; memory.giveBacks.length > 0 && memory.giveBacks.length < left; ) {
    left = memory.giveBacks.length;
    await giveBackSome(place);
  }
}
