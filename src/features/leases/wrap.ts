/** Takes under `leased`: answered from units that this isolate has leased, or from a call that asks for more. */

import { Flag, type TakeReply, type TakeRequest } from "../../kernel/core/take.ts";
import { beginWaiting, endWaiting } from "../../kernel/place/calls.ts";
import { callStore } from "../../kernel/place/flows/call.ts";
import {
  attempt,
  nowAt,
  type Place,
  type SourcedReply,
  tellListener,
  type Wrap,
} from "../../kernel/place/flows/place.ts";
import { askStore, refusalUnderStrict } from "../../kernel/place/flows/strict.ts";
import { gatesOf, heardOf, withGates } from "../../kernel/place/gates.ts";
import { callAfterMs, POLL_MS } from "../../kernel/place/refusals.ts";
import type { Now } from "../../kernel/place/store-clock.ts";
import {
  type AskedKey,
  type AskedRequest,
  type Background,
  type Call,
  type DecisionNotes,
  keepAlive,
  type Settler,
} from "../../kernel/place/taker.ts";
import { decisionBudget, leftMs, mayWaitMs } from "../../kernel/place/timing.ts";
import { isStoreError, lateReplyOf } from "../../kernel/store/failure.ts";
import { StoreError } from "../../kernel/store/store.ts";
import { allUnits } from "./leased-returns.ts";
import {
  type Admitted,
  type Asking,
  askAhead,
  askFor,
  bookFailure,
  bookLateReply,
  bookReply,
  callInFlight,
  leasesOf,
  longestCallMs,
  lookedAt,
  refusalOfRest,
  refusalWhilePaused,
  returnSpent,
  spendLeased,
} from "./leased-takes.ts";
import { endLeases } from "./leases.ts";
import { beginReturns, type Returning, returnDue, returningIn } from "./return-units.ts";

/**
 * After this many calls that admitted nothing, a request asks only for what it needs, as under `strict`. It does the
 * same when it has waited for more calls of others, and for half of its budget: others get what the store gives.
 */
const MAX_CALLS = 3;

/** Units are leased only for enforced policies, and for a cost: anything else only the script can answer. */
export const LEASES: Wrap = {
  consistency: "leased",
  suits(takes, flag) {
    // What the isolate decides alone under `shared` may be leased, too.
    return (
      takes.some(({ policy }) => policy.consistency === "leased") &&
      takes.every(
        ({ policy: { consistency, mode }, cost }) =>
          consistency !== "strict" && mode === "enforce" && (cost > 0 || flag === Flag.look),
      )
    );
  },
  answer(place, request, call) {
    const { background, notes } = call;
    if (request.flag === Flag.look) return lookBesideLeases(place, request, call);
    return background && takeLeased(place, request, background, notes);
  },
  known(place, request, { background }) {
    if (!background) return refusalUnderStrict(place, request);
    return refusedNow(place, request.keys, place.memory.last, nowAt(place));
  },
  reset(place, keys) {
    for (const key of keys) endLeases(place.memory, key);
    tellListener(place);
  },
  handOver(place) {
    const units = allUnits(place.memory, nowAt(place));
    tellListener(place);
    return units;
  },
  beside: (place, background, now) => returnDue(place, returningIn(background), now),
};

/** The units that this isolate has leased are left, too. @throws {StoreError} */
async function lookBesideLeases(place: Place, request: TakeRequest, call: Call): Promise<SourcedReply> {
  const looked = await askStore(place, request, call);
  const reply = attempt(place, () => lookedAt(place.memory, request.keys, looked.reply, nowAt(place)));
  return reply ? { ...looked, reply } : looked;
}

/** Every key of the request must be leasable and cost at least 1. @throws {StoreError} */
async function takeLeased(
  place: Place,
  { keys }: AskedRequest,
  background: Background,
  notes?: DecisionNotes,
): Promise<SourcedReply> {
  const came = place.memory.last;
  const returning = returningIn(background);
  const now = nowAt(place);
  const answer = answerNow(place, keys, came, returning, true, now);
  if (answer) {
    returnDue(place, returning, now);
    return answer;
  }
  // A waiting request has been counted. Keep it alive until it is uncounted.
  const asked = await keepAlive(waitOrCall(place, keys, came, returning, notes), background);
  attempt(place, () => returnDue(place, returning, nowAt(place)));
  return asked;
}

/** Answers from leased units, or from what is known in this isolate. */
function answerNow(
  place: Place,
  keys: readonly AskedKey[],
  came: number,
  returning: Returning,
  isNew: boolean,
  now = nowAt(place),
): SourcedReply | undefined {
  const admitted = spendLeased(place.memory, keys, now, isNew);
  if (!admitted) return refusedNow(place, keys, came, now);
  // The units are spent: a bug in what follows must not ask the store too.
  if (admitted.isLow) attempt(place, () => sendAhead(place, keys, returning, now));
  if (admitted.isUnreturned) beginReturns(place, keys, returning);
  tellListener(place);
  return sourced(place, keys, admitted, "lease", returning);
}

/** @param came the last number that was given away when the request came. */
function refusedNow(place: Place, keys: readonly AskedKey[], came: number, now: Now): SourcedReply | undefined {
  const refused = refusalOfRest(place.memory, keys, came, now);
  if (refused) return { reply: refused.reply, source: refused.isKnown ? "cache" : place.store.kind };
  const reply = refusalWhilePaused(place.memory, keys, now);
  return reply && { reply, source: "lease" };
}

/**
 * Waits for the answer to another request's call, or makes one. Only one call of a lease is on its way: many calls make
 * a slow store slower, and each of them knows nothing of what the others will bring.
 */
async function waitOrCall(
  place: Place,
  keys: readonly AskedKey[],
  came: number,
  returning: Returning,
  notes: DecisionNotes | undefined,
): Promise<SourcedReply> {
  const { store, memory, timing } = place;
  const budget = decisionBudget(store.timeoutMs, longestCallMs(memory, keys), timing.nowMs(), notes);
  let [made, waitedFor, latest] = [0, 0, 0];
  while (made < MAX_CALLS) {
    const now = nowAt(place);
    const restMs = leftMs(budget, now.localAtMs);
    const mayMs = mayWaitMs(budget, now.localAtMs);
    const waiting = beginWaiting(memory, keys, now.localAtMs, leasesOf(memory, keys));
    // A call of its own would be answered too late. A call for all that wait may still be in time for the others.
    if (restMs < longestCallMs(memory, keys)) made += sendAhead(place, keys, returning, now);
    const call = callInFlight(memory, keys, now);
    if (call > latest) waitedFor++;
    latest = Math.max(latest, call);
    const isOvertaken = waitedFor > MAX_CALLS && mayMs <= 0;
    const waitMs = call ? Math.min(POLL_MS, restMs - 1) : Math.min(callAfterMs(memory, keys, now), mayMs);
    if (waitMs > 0 && !isOvertaken) await timing.sleep(waitMs);
    endWaiting(memory, keys, waiting);
    if (isOvertaken) break;
    if (call && waitMs <= 0) throw new StoreError("WAITED");
    if (waitMs <= 0) {
      made++;
      const asking = askFor(memory, keys, made < MAX_CALLS, now);
      const admitted = await send(place, keys, asking, returning, restMs);
      if (admitted) return sourced(place, keys, admitted, store.kind, returning);
    }
    if (!heardOf(memory, gatesOf(keys), nowAt(place)).allowed) break;
    const answer = answerNow(place, keys, came, returning, false);
    if (answer) return answer;
  }
  const all = { keys: withGates(keys), flag: Flag.take };
  const refused = refusalUnderStrict(place, all);
  if (refused) return refused;
  const { background } = returning;
  const budgetMs = leftMs(budget, timing.nowMs());
  return { reply: await callStore(place, all, { background, budgetMs }), source: store.kind };
}

/**
 * Asks for more before the leased units run out, behind the calls that other places make in this step for the same
 * decision. @returns how many calls are made.
 */
function sendAhead(place: Place, keys: readonly AskedKey[], returning: Returning, now: Now): number {
  let calls = 0;
  for (const key of keys) {
    const asking = askAhead(place.memory, key, now);
    if (!asking) continue;
    calls++;
    const later = Promise.resolve().then(() => send(place, [key], asking, returning));
    keepAlive(
      later.catch((error) => isStoreError(error) || place.reportBug(error)),
      returning.background,
    );
  }
  return calls;
}

/**
 * Makes the call and books the reply. The caller must keep it alive if the client goes away.
 *
 * @returns undefined: the request has no answer yet. Look at the memory again. @throws {StoreError}
 */
async function send(
  place: Place,
  keys: readonly AskedKey[],
  asking: Asking,
  returning: Returning,
  budgetMs?: number,
): Promise<Admitted | undefined> {
  const { memory, timing } = place;
  const { call, asked, needed } = asking;
  const { background } = returning;
  let reply: TakeReply;
  try {
    const all = { keys: withGates(asked), flag: Flag.take };
    reply = await callStore(place, all, { background, budgetMs, call, needed });
  } catch (error) {
    const late = lateReplyOf(error);
    attempt(place, () => bookFailure(memory, keys, call, late !== undefined));
    beginReturns(place, keys, returning);
    tellListener(place);
    if (!late) throw error;
    keepAlive(bookLate(place, asking, late.answer, returning).catch(place.reportBug), background);
    throw new StoreError("TIMEOUT", undefined, {
      ...late,
      answer: late.answer.then((reply) => forRequest(reply, asking)),
    });
  }
  const admitted = bookReply(memory, keys, asking, reply, timing.nowMs());
  beginReturns(place, keys, returning);
  tellListener(place);
  return admitted;
}

/** What has decided without the store settles what the request needed, and the lease the rest. */
function forRequest(reply: TakeReply | undefined, { asked, needed }: Asking): TakeReply | undefined {
  if (!reply) return undefined;
  const charged = reply.charged.flatMap((one) => {
    const cost = needed[asked.findIndex(({ key }) => key === one.key)];
    return cost === undefined ? [] : [{ ...one, cost }];
  });
  return { ...reply, charged };
}

async function bookLate(
  place: Place,
  asking: Asking,
  late: Promise<TakeReply | undefined>,
  returning: Returning,
): Promise<void> {
  const reply = await late;
  if (!reply) return;
  attempt(place, () => bookLateReply(place.memory, asking, reply, place.timing.nowMs()));
  beginReturns(place, asking.asked, returning);
  tellListener(place);
}

function sourced(
  place: Place,
  keys: readonly AskedKey[],
  { reply, spent }: Admitted,
  source: string,
  returning: Returning,
): SourcedReply {
  if (!reply.allowed) return { reply, source };
  const by: Settler = {
    // Nothing is charged beyond: only strict takes reserve.
    async settle(changes) {
      returnSpent(place.memory, spent, new Map(changes.map(({ charge, back }) => [charge.receipt.key, back])));
      beginReturns(place, keys, returning);
      tellListener(place);
    },
    renew: async () => true,
  };
  return { reply, source, by };
}
