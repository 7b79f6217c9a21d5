/**
 * What the store must still get back: slots that could not be released, and units that it surely did not get back. They
 * wait for its next reply, whoever hears it.
 */

import { algorithmOf } from "../core/algorithms.ts";
import type { KeyRequest, TakeRequest } from "../core/take.ts";
import type { StoreFailure } from "../store/failure.ts";
import { wasReset } from "./calls.ts";
import type { GiveBack, Memory } from "./memory.ts";
import { slotsOf } from "./slots.ts";

/** Of so many requests something is given back later. What is older ends by itself, as does all that is charged. */
const MAX_GIVE_BACKS = 1_000;

/**
 * A give-back has failed. Units whose outcome is not known are not given back again. A slot may be: it is known by the
 * number of its request.
 *
 * @param nowMs by the local clock, ms since the epoch. @param since the last number that had been given away
 * when it began: a reset after that has removed the units. @param earlier it has failed before.
 */
export function giveBackLater(
  memory: Memory,
  request: TakeRequest,
  { notRun }: Pick<StoreFailure, "notRun">,
  nowMs: number,
  since = memory.last,
  earlier?: GiveBack,
): void {
  const keys = notRun ? request.keys : request.slot ? slotsOf(request.keys) : [];
  if (keys.length === 0) return;
  const { number = since, untilMs = nowMs + Math.max(...keys.map(lastsMs)) } = earlier ?? {};
  memory.giveBacks.push({ request: { ...request, keys }, number, untilMs });
  if (memory.giveBacks.length > MAX_GIVE_BACKS) memory.giveBacks.shift();
}

/** Takes the oldest out, to give each back with a call of its own. A reset has removed the units of its keys. */
export function takeGiveBacks(memory: Memory, most: number, nowMs: number): GiveBack[] {
  return memory.giveBacks.splice(0, most).flatMap(({ request, number, untilMs }) => {
    const keys = request.keys.flatMap((key) => (wasReset(memory, key.key, number) ? slotsOf([key]) : [key]));
    return untilMs > nowMs && keys.length > 0 ? [{ request: { ...request, keys }, number, untilMs }] : [];
  });
}

/** For how long it may make a difference, in ms. */
function lastsMs({ limits, once }: KeyRequest): number {
  const each = limits.map((limit) => algorithmOf(limit).capacity(limit).windowMs);
  return Math.min(Math.max(...each), once?.forMs ?? Number.POSITIVE_INFINITY);
}
