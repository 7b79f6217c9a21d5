/** The program ends: the store hears what it is owed, and gets back what the isolate holds beyond its requests. */

import { type Settler, undo } from "../taker.ts";
import { KEYS_PER_TELLING as KEYS_AT_ONCE } from "../telling.ts";
import type { Place } from "./place.ts";
import { giveBackSome, repayDebts } from "./repay.ts";

/** How often to look whether the calls under way have ended, in ms. */
const LOOK_EVERY_MS = 5;
/** Calls that tell what is owed, beyond one for each key. */
const CALLS_BEYOND = 5;

/**
 * Tries once for each thing that is owed: a store that does not answer is not waited for. Never rejects.
 *
 * @param by settles what the store has charged. @param withinMs what takes longer goes on, and nobody waits for it.
 */
export async function closePlace(place: Place, by: Settler, withinMs: number): Promise<void> {
  const { timing } = place;
  const endsAtMs = timing.nowMs() + withinMs;
  let isDone = false;
  const isOver = () => isDone || timing.nowMs() >= endsAtMs;
  const settled = settleAll(place, by, isOver)
    .catch(place.reportBug)
    .finally(() => {
      isDone = true;
    });
  // These timers keep the process alive while the caller waits: those of the calls may not. A clock may stand still.
  for (let looks = withinMs / LOOK_EVERY_MS; looks > 0 && !isOver(); looks--) {
    await Promise.race([settled, timing.sleep(LOOK_EVERY_MS)]);
  }
}

async function settleAll(place: Place, by: Settler, isOver: () => boolean): Promise<void> {
  const { memory, timing } = place;
  do {
    // An answer may bring units that are held, or say that something is owed.
    while (memory.calls > 0 && !isOver()) await timing.sleep(LOOK_EVERY_MS, true);
    if (isOver()) return;
    await settleOwed(place, by);
  } while (memory.calls > 0);
}

async function settleOwed(place: Place, by: Settler): Promise<void> {
  const { memory, wraps } = place;
  const held = wraps.flatMap((wrap) => wrap.handOver?.(place) ?? []);
  const { last: since } = memory;
  const parts = Array.from({ length: Math.ceil(held.length / KEYS_AT_ONCE) }, (_, p) => {
    return { receipts: held.slice(p * KEYS_AT_ONCE, (p + 1) * KEYS_AT_ONCE), slot: 0, since, by };
  });
  await undo(parts, {});
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
