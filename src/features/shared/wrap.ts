/** Takes under `shared`: decided at once. The store is told in the background, and its replies are learned from. */

import { ENFORCED, Flag, type KeyRequest, type Receipt, type TakeReply } from "../../kernel/core/take.ts";
import { addDebts, debtsOf, takeBackDebts } from "../../kernel/place/debts.ts";
import { callStore } from "../../kernel/place/flows/call.ts";
import {
  attempt,
  type HeardCall,
  nowAt,
  type Place,
  type SourcedReply,
  type Wrap,
} from "../../kernel/place/flows/place.ts";
import { giveBackSome, repayDebts } from "../../kernel/place/flows/repay.ts";
import { sinceReset } from "../../kernel/place/flows/settle.ts";
import { recordOf } from "../../kernel/place/memory.ts";
import { nowBy } from "../../kernel/place/store-clock.ts";
import { type AskedRequest, type Background, type Change, keepAlive } from "../../kernel/place/taker.ts";
import {
  BACKGROUND_MS,
  beginTelling,
  isTimeToTell,
  KEYS_PER_TELLING,
  noteLook,
  takeLooks,
  tellBy,
  tellLater,
  timerFor,
} from "../../kernel/place/telling.ts";
import { failureOf, type StoreFailure } from "../../kernel/store/failure.ts";
import { knowsPart, learnShared, needsLook, returnShared, takeShared } from "./rule.ts";

export const SHARED: Wrap = {
  consistency: "shared",
  ask(key, { policy: { syncMs, warn } }) {
    if (syncMs === undefined) return;
    key.syncMs = syncMs;
    // What is estimated may be far above what is used.
    if (warn) key.isWarned = true;
  },
  suits: (takes) => takes.every(({ policy }) => policy.consistency === "shared"),
  answer: (place, request, { background }) => answerShared(place, request, background),
  known: () => undefined,
  learn: learnFrom,
};

/** Answers without the store, and sees to it that the store is told. */
function answerShared(place: Place, request: AskedRequest, background: Background | undefined): SourcedReply {
  const { memory, timing, random } = place;
  const reply = takeShared(memory, request, nowAt(place), random);
  // What follows is for the store alone: a bug in it must not make the store decide too.
  if (request.flag === Flag.take) attempt(place, () => lookAfterRefusal(place, request, reply));
  const { charged } = reply;
  if (charged.length === 0) {
    // What an earlier call could not tell is still to be told.
    if (memory.owing.size > 0) tellLater(memory.telling, false);
    if (memory.owing.size > 0 || memory.telling.looks.size > 0) attempt(place, () => tellInTime(place, background));
    return { reply, source: "shared" };
  }
  // The store counts the units of a policy in shadow too.
  const added = addDebts(memory, charged.map(asEnforced), timing.nowMs());
  attempt(place, () => {
    for (const { key, cost, syncMs = 0, gate } of request.keys) {
      if (cost > 0) tellBy(memory.telling, syncMs, knowsPart(memory, key), added.atMs, random);
      if (gate) noteLook(memory.telling, gate);
    }
    tellInTime(place, background);
  });
  return {
    reply,
    source: "shared",
    by: {
      async settle(changes) {
        returnShared(memory, sinceReset(memory, changes).map(receiptBack));
        takeBackDebts(memory, changes.map(receiptBack), added);
      },
      renew: async () => true,
    },
  };
}

/** Goes on with the counts of a reply that is the newest about its keys. */
function learnFrom({ memory }: Place, { request, reply, call, sentAtMs, receivedAtMs }: HeardCall): void {
  for (const { key } of request.keys) {
    const record = recordOf(memory, key);
    if (!record?.shared || record.call !== call) continue;
    memory.telling.looks.delete(key);
    const charged = reply.charged.find((one) => one.key === key && one.limits.length > 0 && !one.once?.isRepeat);
    // Units of calls that nobody has answered count until their window ends.
    const untold = debtsOf(record, receivedAtMs, (number) => number !== call);
    const { earliestMs: nowMs = reply.nowMs } = nowBy(memory.clock, receivedAtMs, 0);
    learnShared(memory, record, { sentAtMs, receivedAtMs, nowMs, charged: charged?.cost ?? 0, untold });
  }
}

/** An isolate that refuses has nothing to tell. It looks at the counts, so that it hears when units are back. */
function lookAfterRefusal(place: Place, { keys }: AskedRequest, reply: TakeReply): void {
  const { memory, timing, random, trustedMs } = place;
  const nowMs = timing.nowMs();
  for (const [k, key] of keys.entries()) {
    if (!reply.keys[k]!.some(({ refused }) => refused) || !needsLook(memory, key, nowMs, trustedMs())) continue;
    noteLook(memory.telling, key);
    tellBy(memory.telling, key.syncMs ?? 0, true, nowMs, random);
  }
}

/** Tells now, or sets a timer in the background of this request. */
function tellInTime(place: Place, background: Background | undefined): void {
  const { memory, timing } = place;
  const { telling, owing } = memory;
  const nowMs = timing.nowMs();
  const isFull = owing.size >= KEYS_PER_TELLING && !telling.isUnsure;
  let sleepMs: number | undefined;
  if (!isFull) {
    sleepMs = telling.dueAtMs <= nowMs ? 0 : timerFor(telling, nowMs);
    if (sleepMs === undefined) return;
  }
  keepAlive(tellUntil(place, sleepMs, nowMs + BACKGROUND_MS).catch(place.reportBug), background);
}

/**
 * Tells after this time, and again if that has failed: the isolate may get no other request. It tries ever more seldom,
 * until the runtime would end the background, or until a later request has set a timer.
 *
 * @param firstMs undefined: now. 0: in the next turn, because another place may refuse the request in this one, and its
 * units are taken back.
 */
async function tellUntil(place: Place, firstMs: number | undefined, untilMs: number): Promise<void> {
  const { memory, timing } = place;
  const { telling, owing } = memory;
  if (firstMs !== undefined) {
    const { timerAtMs } = telling;
    await timing.sleep(firstMs, firstMs > 0);
    if (!isTimeToTell(telling, timerAtMs, timing.nowMs())) return;
  }
  await tell(place);
  for (let leastMs = 0; owing.size > 0; ) {
    const nowMs = timing.nowMs();
    if (Math.max(telling.dueAtMs, nowMs + leastMs) > untilMs) return;
    const sleepMs = timerFor(telling, nowMs, leastMs);
    if (sleepMs === undefined) return;
    const { timerAtMs } = telling;
    await timing.sleep(sleepMs, true);
    if (telling.timerAtMs !== timerAtMs || telling.dueAtMs === Number.POSITIVE_INFINITY) return;
    await tell(place);
    leastMs = 2 * sleepMs;
  }
}

/** Tells the store all that this isolate has admitted. Never rejects because of the store. */
async function tell(place: Place): Promise<void> {
  const { store, memory, timing, random } = place;
  const { telling, owing } = memory;
  beginTelling(telling, timing.nowMs(), random);
  // What is told without an answer is lost. After a failure a look must show first that the store answers.
  const isDoubtful = (telling.isUnsure || store.breaker?.() === "open") && owing.size > 0;
  const failure = isDoubtful ? await failureToAnswer(place) : undefined;
  if (isDoubtful && !failure) telling.isUnsure = false;
  if (!failure) await tellAll(place);
  if (owing.size > 0) tellLater(telling, failure?.code === "OPEN");
}

/** In one call, or in as many as there must be. */
async function tellAll(place: Place): Promise<void> {
  const { memory } = place;
  const { telling, owing, isApart } = memory;
  const looks = takeLooks(telling, owing, isApart);
  const calls: Promise<StoreFailure | undefined>[] = [];
  while (owing.size > 0 || looks.length > 0) calls.push(repayDebts(place, KEYS_PER_TELLING, looks));
  const failures = await Promise.all(calls);
  if (failures.includes(undefined)) await giveBackSome(place);
  // Nothing was charged: the same again, each key by itself.
  if (memory.isApart && !isApart) await tellAll(place);
}

/** Asks the store a question that charges nothing. @returns why it has no answer. undefined: it has one. */
async function failureToAnswer(place: Place): Promise<StoreFailure | undefined> {
  const { owing, records } = place.memory;
  const [key] = owing;
  const debt = key === undefined ? undefined : records.get(key)?.own?.debts[0];
  if (!debt) return undefined;
  try {
    const look = { key: key!, group: ENFORCED, cost: 0, limits: debt.limits };
    // It is told in a moment, with all else.
    await callStore({ ...place, onReply: undefined }, { keys: [look], flag: Flag.look });
    return undefined;
  } catch (error) {
    const failure = failureOf(error);
    const hasAnswered = failure.isReply || (await failure.timeout?.answer) !== undefined;
    return hasAnswered ? undefined : failure;
  }
}

function asEnforced(key: KeyRequest): KeyRequest {
  return key.group === ENFORCED ? key : { ...key, group: ENFORCED };
}

/** What goes back. */
function receiptBack({ charge: { receipt }, back }: Change): Receipt {
  return { ...receipt, cost: Math.max(0, back) };
}
