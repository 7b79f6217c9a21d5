/** A decision in one call of one store, and what happens if the store has no answer. */

import { Flag, type TakeRequest } from "../core/take.ts";
import type { Isolate } from "../isolate/isolate.ts";
import { direct, type SourcedReply } from "../isolate/reply-source.ts";
import { failureOf, type StoreFailure } from "../store/failure.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import {
  type Answered,
  type Asked,
  answerOf,
  ask,
  chargedOf,
  type Decider,
  decideAll,
  denies,
  type PolicyKey,
  type Settle,
  unavailable,
} from "./decide.ts";

/**
 * @param isolate what this isolate keeps beside the store. Absent: nothing.
 * @param inParts decides if the store cannot decide over all keys in one call (`CROSSSLOT`: nothing was charged).
 */
export function createDecideOnce(store: Store, isolate?: Isolate, inParts?: Decider["decide"]): Decider {
  const replies = isolate?.replies ?? direct(store);
  const own = direct(memoryStore(), "fallback");

  const settle: Settle = isolate?.settle ?? ((request) => replies.take(request).catch(failureOf));

  /** Each policy says what happens, and the strictest answer wins. */
  async function fallBack(
    keys: readonly PolicyKey[],
    { flag, slot, notes, mustHear }: Asked,
    failure: StoreFailure,
  ): Promise<Answered> {
    const counted = keys.filter(({ policy }) => policy.onStoreFailure === "local");
    if (mustHear || keys.some(denies)) return { decision: unavailable() };
    const alone = isolate?.alone(failure, notes) ?? own;
    const options = { replies: alone, flag, slot, settle: (request: TakeRequest) => alone.take(request) };
    return answerOf(counted, await ask(counted, options), options);
  }

  async function decideWithout(keys: readonly PolicyKey[], asked: Asked, failure: StoreFailure): Promise<Answered> {
    const answered = await fallBack(keys, asked, failure);
    const failed = { failure: failure.code, unanswered: keys };
    if (asked.flag !== Flag.take || !isolate) return { ...answered, ...failed };
    const requests = keys.map(({ request }) => request);
    const options = { ...asked, replies, giveBackLater: isolate.giveBackLater };
    const { decision, settle } = isolate.note(answered.decision, requests, failure, options);
    const charges = answered.charges?.map((charge) => ({ ...charge, keys: chargedOf(keys, decision), settle }));
    return { ...answered, decision, ...(charges && { charges }), ...failed };
  }

  return {
    async decide(keys, asked): Promise<Answered> {
      const options = { ...asked, replies, giveBackLater: isolate?.giveBackLater, settle };
      let sourced: SourcedReply;
      // Nothing but the question is in here: an exception of any other code is no failure of the store.
      try {
        sourced = await ask(keys, options);
      } catch (error) {
        const failure = failureOf(error);
        if (inParts && failure.code === "CROSSSLOT") return inParts(keys, asked);
        return await decideWithout(keys, asked, failure);
      }
      return answerOf(keys, sourced, options);
    },
    async known(keys, { background, consistency = "leased" }) {
      const request = { keys: keys.map(({ request }) => request), flag: Flag.take, slot: 0 };
      let sourced = isolate?.refusal(request, background, consistency);
      // The counts of a store in memory are the isolate's own.
      if (!isolate && store.kind === "memory") {
        const reply = await store.take({ ...request, flag: Flag.look });
        sourced = reply.allowed ? undefined : { reply, source: store.kind };
      }
      if (!sourced) return undefined;
      const { reply, source } = sourced;
      return { decision: decideAll(source, [{ keys, reply, source }], Flag.take), atMs: reply.nowMs };
    },
    surelyRefused: (keys) => (isolate ? keys.filter(({ request }) => isolate.surelyRefuses(request)) : []),
    reset: replies.reset,
  };
}
