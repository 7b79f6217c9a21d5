/** A call to the store. The isolate learns about the store only from the replies that pass through this file. */

import { decides, type TakeReply, type TakeRequest } from "../../core/take.ts";
import { checkReply, failureOf, lateReplyOf } from "../../store/failure.ts";
import { StoreError } from "../../store/store.ts";
import { beyondBreaker } from "../breaker.ts";
import { beginCall, endCall, failCall, forgetCounts, isVoid, learn, voidKeys } from "../calls.ts";
import { type Background, keepAlive } from "../taker.ts";
import { attempt, type HeardCall, type Place } from "./place.ts";

interface CallOptions {
  /** Keeps the isolate alive until it has learned from a late reply. */
  readonly background?: Background | undefined;
  /** The rest of the decision's time, in ms. Default: the store's own budget. */
  readonly budgetMs?: number | undefined;
  /** The number under which the memory knows the call. Default: a new one. */
  readonly call?: number;
  /** For each key the units that the request itself needs. Default: all that are asked for. */
  readonly needed?: readonly number[];
  /** It tells a store that has just replied what it missed: an open breaker lets it pass, and no other call follows. */
  readonly isTelling?: boolean;
}

/**
 * Takes from the store, and learns from its reply, even from a late one.
 *
 * @throws {StoreError} and no other error: what the isolate notes beside a call cannot fail it.
 */
export async function callStore(place: Place, request: TakeRequest, options: CallOptions = {}): Promise<TakeReply> {
  const { store, memory, timing, listener, onReply, ending } = place;
  const { background, budgetMs, needed, call = ++memory.last, isTelling = false } = options;
  const sentAtMs = timing.nowMs();
  let mayComeLate = false;
  ending.calls++;
  attempt(place, () => beginCall(memory, request, call, sentAtMs, needed));
  try {
    const asked = isTelling ? beyondBreaker(store) : store;
    const reply = checkReply(await asked.take(request, undefined, budgetMs), request);
    const receivedAtMs = timing.nowMs();
    if (decides(request.flag)) memory.callMs = receivedAtMs - sentAtMs;
    if (listener) attempt(place, () => listener.storeCall("OK", receivedAtMs - sentAtMs));
    attempt(place, () => {
      learnAll(place, { request, reply, call, sentAtMs, receivedAtMs });
      onReply?.({ isLate: false, isTelling }, background);
    });
    return reply;
  } catch (thrown) {
    const error = failureOf(thrown);
    const { code } = error;
    if (listener) attempt(place, () => listener.storeCall(code, timing.nowMs() - sentAtMs));
    const late = lateReplyOf(error);
    if (!late) {
      attempt(place, () => failCall(memory, request, call));
      throw error;
    }
    mayComeLate = true;
    const answer = hearLate(place, request, late.answer, call, sentAtMs, isTelling, background);
    keepAlive(answer, background);
    throw new StoreError("TIMEOUT", undefined, { ...late, answer, call });
  } finally {
    ending.calls--;
    attempt(place, () => endCall(memory, request, call, mayComeLate));
  }
}

/**
 * @returns the late reply. undefined: none came, or the key was reset since, and nothing is to be undone: the reset has
 * removed the charge. If the call arrived after the reset, its units lapse with their window.
 */
async function hearLate(
  place: Place,
  request: TakeRequest,
  late: Promise<TakeReply | undefined>,
  call: number,
  sentAtMs: number,
  isTelling: boolean,
  background: Background | undefined,
): Promise<TakeReply | undefined> {
  const { memory, timing, onReply } = place;
  const reply = await late;
  const isUseless = !reply || isVoid(memory, request.keys, call);
  attempt(place, () => {
    const receivedAtMs = timing.nowMs();
    if (!isUseless) learnAll(place, { request, reply, call, sentAtMs, receivedAtMs }, true);
    endCall(memory, request, call, false);
    if (reply) onReply?.({ isLate: true, isTelling }, background);
  });
  return isUseless ? undefined : reply;
}

function learnAll(place: Place, heard: HeardCall, isLate = false): void {
  learn(place.memory, heard, isLate);
  for (const wrap of place.wraps) wrap.learn?.(place, heard);
}

/** Forgets the counts of these keys. @throws {StoreError} */
export async function resetKeys(place: Place, keys: readonly string[]): Promise<void> {
  const { store, memory, wraps } = place;
  const voidAll = () => {
    for (const wrap of wraps) wrap.reset?.(place, keys);
    voidKeys(memory, keys);
  };
  voidAll();
  try {
    await store.reset(keys);
  } finally {
    // A reply that was on its way must not bring the old counts back. If the reset has failed, nobody knows whether it
    // has removed what was charged meanwhile.
    voidAll();
  }
  forgetCounts(memory, keys);
}
