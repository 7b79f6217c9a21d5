/** Takes under `strict`: the store makes every admission. A known refusal needs no call. */

import { Flag, type TakeRequest } from "../../core/take.ts";
import { beginWaiting, endWaiting } from "../calls.ts";
import { refusalWithDebts } from "../own-counts.ts";
import { callAfterMs, knownRefusal, mayBeRefused, refusedSince } from "../refusals.ts";
import { type Background, type Call, keepAlive } from "../taker.ts";
import { decisionBudget, leftMs, mayWaitMs, restOfBudgetMs } from "../timing.ts";
import { callStore } from "./call.ts";
import { attempt, nowAt, type Place, type SourcedReply } from "./place.ts";

/** The refusal that is known without a call, if there is one. */
export function refusalUnderStrict(place: Place, { keys }: TakeRequest): SourcedReply | undefined {
  const reply = knownRefusal(place.memory, keys, nowAt(place));
  return reply && { reply, source: "cache" };
}

/** Answers a take or a look. @throws {StoreError} */
export function answerStrictly(place: Place, request: TakeRequest, call: Call): SourcedReply | Promise<SourcedReply> {
  const isTake = request.flag === Flag.take;
  // Most often nothing that was heard lately refuses.
  if (!isTake || !mayBeRefused(place.memory, request.keys)) return askStore(place, request, call);
  // A waiting request has been counted. Keep it alive until it is uncounted.
  return refusalUnderStrict(place, request) ?? keepAlive(waitOrCall(place, request, call), call.background);
}

/** Calls the store at once. @throws {StoreError} */
export async function askStore(place: Place, request: TakeRequest, { background, notes }: Call): Promise<SourcedReply> {
  const { store, timing } = place;
  const budgetMs = notes && restOfBudgetMs(store.timeoutMs, timing.nowMs(), notes);
  return await keepAlive(callNow(place, request, background, budgetMs), background);
}

async function callNow(
  place: Place,
  request: TakeRequest,
  background: Background | undefined,
  budgetMs: number | undefined,
): Promise<SourcedReply> {
  const { store, memory, wraps } = place;
  const isTake = request.flag === Flag.take;
  if (background && isTake)
    for (const { beside } of wraps) attempt(place, () => beside?.(place, background, nowAt(place)));
  const reply = await callStore(place, request, { background, budgetMs });
  if (reply.allowed || !isTake) return { reply, source: store.kind };
  const refusal = attempt(place, () => refusalWithDebts(memory, request, reply, nowAt(place)));
  return { reply: refusal ?? reply, source: store.kind };
}

/** Waits for another request's answer as long as that may answer this request, then calls the store. */
async function waitOrCall(place: Place, request: TakeRequest, { background, notes }: Call): Promise<SourcedReply> {
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
    if (waitMs <= 0) return await callNow(place, request, background, leftMs(budget, now.localAtMs));
    const waiting = beginWaiting(memory, keys, now.localAtMs);
    await timing.sleep(waitMs);
    sleptMs += waitMs;
    endWaiting(memory, keys, waiting);
    const refused = refusalUnderStrict(place, request);
    if (refused) return refused;
  }
}
