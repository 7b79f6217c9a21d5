/** Takes under `strict`: the store makes every admission. A known refusal needs no call. */

import type { TakeRequest } from "../../core/take.ts";
import { beginWaiting, endWaiting } from "../calls.ts";
import { refusalWithDebts } from "../own-counts.ts";
import { callAfterMs, knownRefusal, refusedSince } from "../refusals.ts";
import { type Background, type DecisionNotes, keepAlive } from "../taker.ts";
import { decisionBudget, leftMs, mayWaitMs } from "../timing.ts";
import { callStore } from "./call.ts";
import { nowAt, type Place, type SourcedReply } from "./place.ts";

/** The refusal that is known without a call, if there is one. */
export function refusalUnderStrict(place: Place, { keys }: TakeRequest): SourcedReply | undefined {
  const reply = knownRefusal(place.memory, keys, nowAt(place));
  return reply && { reply, source: "cache" };
}

/** @throws {StoreError} */
export function takeStrict(
  place: Place,
  request: TakeRequest,
  background: Background | undefined,
  notes?: DecisionNotes,
): SourcedReply | Promise<SourcedReply> {
  // A waiting request has been counted. Keep it alive until it is uncounted.
  return refusalUnderStrict(place, request) ?? keepAlive(waitOrCall(place, request, background, notes), background);
}

/** Waits for another request's answer as long as that may answer this request, then calls the store. */
async function waitOrCall(
  place: Place,
  request: TakeRequest,
  background: Background | undefined,
  notes: DecisionNotes | undefined,
): Promise<SourcedReply> {
  const { store, memory, timing } = place;
  const { keys } = request;
  const came = memory.last;
  const budget = decisionBudget(store.timeoutMs, memory.callMs, timing.nowMs(), notes);
  /** A local clock may stand still, as in the tests of an app: what was slept counts too. */
  let sleptMs = 0;
  for (;;) {
    const now = nowAt(place);
    const shared = refusedSince(memory, keys, came, now);
    if (shared) return { reply: shared, source: store.kind };
    const mayMs = Math.min(mayWaitMs(budget, now.localAtMs), budget.waitedMs - sleptMs);
    const waitMs = Math.min(callAfterMs(memory, keys, now), mayMs);
    if (waitMs <= 0) {
      if (background) for (const wrap of place.wraps) wrap.beside?.(place, background, now);
      const reply = await callStore(place, request, { background, budgetMs: leftMs(budget, now.localAtMs) });
      // Nothing that could throw follows a charge.
      if (reply.allowed) return { reply, source: store.kind };
      return { reply: refusalWithDebts(memory, request, reply, nowAt(place)), source: store.kind };
    }
    const waiting = beginWaiting(memory, keys, now.localAtMs);
    await timing.sleep(waitMs);
    sleptMs += waitMs;
    endWaiting(memory, keys, waiting);
    const refused = refusalUnderStrict(place, request);
    if (refused) return refused;
  }
}
