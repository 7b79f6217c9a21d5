/**
 * Tells the store what it missed while it had no answer: debts, slots that were not released, and units that were not
 * given back. All of them wait for the same thing: a reply of the store, whoever hears it, and however late.
 */

import { Flag, type KeyRequest, type TakeRequest } from "../../core/take.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import { beginRepayment, endRepayment, noteRefusal, undoRepayment } from "../debts.ts";
import { giveBackLater, takeGiveBacks } from "../give-backs.ts";
import { type GiveBack, isSlow, KEYS_PER_CALL } from "../memory.ts";
import { type Background, keepAlive } from "../taker.ts";
import { callStore } from "./call.ts";
import type { HeardReply, Place } from "./place.ts";

/** Give-backs that are on their way at once. A Worker opens at most 6 connections at once (Cloudflare, 2026-11). */
const GIVE_BACKS_AT_ONCE = 5;
/** While requests do not wait for a slow store, it is told no more often than this, in ms. */
const SLOW_EVERY_MS = 100;

/**
 * A reply has been heard: tells the store some of what it missed. Nothing is told without one, because nobody would
 * know whether a dead store has heard it.
 */
export function tellAfterReply(
  place: Place,
  { isLate, isTelling }: HeardReply,
  background: Background | undefined,
): void {
  const { store, memory, timing } = place;
  const repliesTooLate = isLate && store.breaker?.() === "open";
  memory.slowAtMs = repliesTooLate ? timing.nowMs() : Number.NEGATIVE_INFINITY;
  // What cannot be told would be told again and again.
  if (!isTelling && (memory.owing.size > 0 || memory.giveBacks.length > 0)) catchUp(place, background);
}

/** A request did not wait for the store. If it is slow, it hears of the others by what it is told meanwhile. */
export function tellSlowStore(place: Place, background: Background | undefined): void {
  if (isSlow(place.memory, place.timing.nowMs())) catchUp(place, background);
}

function catchUp(place: Place, background: Background | undefined): void {
  const { store, memory, timing } = place;
  const nowMs = timing.nowMs();
  if (store.breaker?.() === "open" && Math.abs(nowMs - memory.tellingAtMs) < SLOW_EVERY_MS) return;
  memory.tellingAtMs = nowMs;
  const work: Promise<unknown>[] = [giveBackSome(place)];
  if (memory.owing.size > 0) work.push(repayDebts(place));
  keepAlive(Promise.all(work), background);
}

/** Gives back the oldest of what the store must still get back. Never rejects because of the store. */
export async function giveBackSome(place: Place): Promise<void> {
  const some = takeGiveBacks(place.memory, GIVE_BACKS_AT_ONCE, place.timing.nowMs());
  await Promise.all(some.map((one) => giveBack(place, one.request, one)));
}

/**
 * Charges some of the debts, in one call at most. Never rejects because of the store.
 *
 * @param most how many keys. @param looks keys of cost 0, whose counts the same call asks for. Those for which it has
 * room are taken out. @returns why the store has no answer. undefined: it has one, or there was nothing to call for.
 */
export async function repayDebts(
  place: Place,
  most: number = KEYS_PER_CALL,
  looks: KeyRequest[] = [],
): Promise<StoreFailure | undefined> {
  const { memory, timing } = place;
  const { telling } = memory;
  const nowMs = timing.nowMs();
  const { number, keys: debts, room } = beginRepayment(memory, nowMs, most);
  const keys = [...debts, ...looks.splice(0, room)];
  if (keys.length === 0) return undefined;
  try {
    // A call that only looks waits for the breaker, as a request does.
    await callStore(place, { keys, flag: Flag.chargeAnyway }, { call: number, isTelling: debts.length > 0 });
  } catch (error) {
    const failure = failureOf(error);
    const { notRun, isReply, timeout } = failure;
    // While nobody knows whether the store answers, a second call could be lost too.
    if (!isReply) telling.isUnsure = true;
    const isCharged = !notRun && (await timeout?.answer) !== undefined;
    if (!isCharged) {
      const isRefused = refuses(failure);
      if (isRefused) noteRefusal(memory, keys.length, failure.code === "CROSSSLOT");
      // What is refused alone would never be charged. Without a reply nobody knows, and it is not charged again.
      if (notRun && isRefused && keys.length === 1) endRepayment(memory, number);
      else if (notRun) undoRepayment(memory, number, nowMs);
      return failure;
    }
  }
  telling.isUnsure = false;
  endRepayment(memory, number);
  return undefined;
}

/** Gives back what the store has charged in vain, after one of its replies. Never rejects because of the store. */
export async function giveBack(place: Place, request: TakeRequest, earlier?: GiveBack): Promise<void> {
  const { memory, timing } = place;
  const call = ++memory.last;
  try {
    await callStore(place, request, { isTelling: true, call });
  } catch (error) {
    const failure = failureOf(error);
    if (await failure.timeout?.answer) return;
    const isRefused = refuses(failure);
    if (isRefused && request.keys.length === 1) return;
    const parts = isRefused ? request.keys.map((key) => [key]) : [request.keys];
    for (const keys of parts) giveBackLater(memory, { ...request, keys }, failure, timing.nowMs(), call, earlier);
  }
}

/**
 * Whether the store works, and would refuse the same call for ever. One of its keys may be the reason, or they lie in
 * several hash slots of a Redis Cluster: each key is tried by itself. What another node of a cluster serves (`MOVED`,
 * `ASK`, `TRYAGAIN`), and what this request may not call any more, is only refused now.
 */
function refuses({ code, isReply, notRun }: StoreFailure): boolean {
  return isReply && code !== "SUBREQUESTS" && !(code === "REDIS" && notRun);
}
