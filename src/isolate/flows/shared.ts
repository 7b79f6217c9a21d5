/** Takes under `shared`: decided at once. The store is told in the background, and its replies are learned from. */

import { ENFORCED, Flag, type KeyRequest, type TakeRequest } from "../../core/take.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import { addDebts, takeBackDebts } from "../debts.ts";
import { KEYS_PER_CALL } from "../memory.ts";
import { type Background, keepAlive, type SourcedReply } from "../reply-source.ts";
import { chargedKeys, knowsPart, returnShared, takeShared } from "../shared.ts";
import { beginTelling, isTimeToTell, tellBy, tellLater, timerFor } from "../telling.ts";
import { callStore } from "./call.ts";
import { nowAt, type Place } from "./place.ts";
import { repayDebts } from "./repay.ts";

/** The most keys that one call tells. Isolates with more make several calls at once. */
const KEYS_PER_TELLING = 500;

/** Answers without the store, and sees to it that the store is told. */
export function answerShared(place: Place, request: TakeRequest, background: Background | undefined): SourcedReply {
  const { memory, timing, random } = place;
  const reply = takeShared(memory, request, nowAt(place), random);
  const charged = request.flag === Flag.take ? chargedKeys(request, reply) : [];
  if (charged.length === 0) {
    // What an earlier call could not tell is still to be told.
    if (memory.owing.size > 0) tellInTime(place, background);
    return { reply, source: "shared" };
  }
  // The store counts the units of a policy in shadow too.
  const added = addDebts(memory, charged.map(asEnforced), timing.nowMs());
  for (const { key, syncMs = 0 } of charged) {
    tellBy(memory.telling, syncMs, knowsPart(memory, key), added.atMs, random);
  }
  tellInTime(place, background);
  return {
    reply,
    source: "shared",
    returnUnits(groups) {
      const returned = charged.filter(({ group }) => groups?.has(group) ?? true);
      returnShared(memory, returned, reply);
      takeBackDebts(memory, returned, added);
    },
  };
}

/** Tells now, or sets a timer in the background of this request. */
function tellInTime(place: Place, background: Background | undefined): void {
  const { memory, timing } = place;
  const { telling, owing } = memory;
  const nowMs = timing.nowMs();
  const isFull = owing.size >= KEYS_PER_TELLING && !telling.isUnsure;
  const sleepMs = isFull || telling.dueAtMs <= nowMs ? 0 : timerFor(telling, nowMs);
  if (sleepMs === undefined) return;
  const work = sleepMs === 0 ? tell(place) : tellAfter(place, sleepMs);
  keepAlive(work.catch(place.reportBug), background);
}

async function tellAfter(place: Place, sleepMs: number): Promise<void> {
  const { memory, timing } = place;
  const { timerAtMs } = memory.telling;
  await timing.sleep(sleepMs);
  if (isTimeToTell(memory.telling, timerAtMs, timing.nowMs())) await tell(place);
}

/** Tells the store all that this isolate has admitted. Never rejects because of the store. */
async function tell(place: Place): Promise<void> {
  const { store, memory, timing, random } = place;
  const { telling } = memory;
  beginTelling(telling, timing.nowMs(), random);
  // What is told without an answer is lost. After a failure a look must show first that the store answers.
  const isDoubtful = telling.isUnsure || store.breaker?.() === "open";
  telling.isUnsure = isDoubtful && !(await answers(place));
  if (!telling.isUnsure) await tellAll(place);
  if (memory.owing.size > 0) tellLater(telling);
}

/** In one call, or in as many as there must be. */
async function tellAll(place: Place): Promise<void> {
  const { memory } = place;
  const { telling, owing } = memory;
  const { isApart } = telling;
  // One of several keys may be the reason why the store has refused a call.
  const most = isApart || memory.keysPerRepayment < KEYS_PER_CALL ? 1 : KEYS_PER_TELLING;
  const calls: Promise<StoreFailure | undefined>[] = [];
  while (owing.size > 0) calls.push(repayDebts(place, most));
  const failures = (await Promise.all(calls)).filter((failure) => failure !== undefined);
  memory.keysPerRepayment = most > 1 && failures.some(({ isReply }) => isReply) ? 1 : KEYS_PER_CALL;
  telling.isUnsure = failures.some(({ isReply }) => !isReply);
  telling.isApart ||= failures.some(({ code }) => code === "CROSSSLOT");
  // Nothing was charged: the same again, each key by itself.
  if (telling.isApart && !isApart) await tellAll(place);
}

/** Whether the store answers a question that charges nothing. */
async function answers(place: Place): Promise<boolean> {
  const { owing, records } = place.memory;
  const [key] = owing;
  const debt = key === undefined ? undefined : records.get(key)?.own?.debts[0];
  if (!debt) return true;
  try {
    const look = { key: key!, group: ENFORCED, cost: 0, limits: debt.limits };
    await callStore(place, { keys: [look], flag: Flag.look });
    return true;
  } catch (error) {
    const { isReply, timeout } = failureOf(error);
    return isReply || (await timeout?.answer) !== undefined;
  }
}

function asEnforced(key: KeyRequest): KeyRequest {
  return key.group === ENFORCED ? key : { ...key, group: ENFORCED };
}
