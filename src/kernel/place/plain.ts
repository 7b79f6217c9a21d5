/** A store as it is, without an isolate: a store in memory, or one that an app has written and not wrapped. */

import { Flag, type TakeReply, type TakeRequest } from "../core/take.ts";
import { askStore, failureOf } from "../store/failure.ts";
import { memoryStore } from "../store/memory.ts";
import { type Store, StoreError } from "../store/store.ts";
import { makeCalls, renewal } from "./changes.ts";
import { answerOf, keepAlive, requestFor, type Settler, type Taker } from "./taker.ts";

/** Calls the store every time. While it has no answer, this limiter counts by itself. */
export function plainTaker(store: Store): Taker {
  const own = memoryStore();
  // Nobody notes resets here.
  const [byStore, byOwn] = [
    { since: 0, by: settlerOf(store) },
    { since: 0, by: settlerOf(own) },
  ];

  return {
    async take(asked, { background, mustHear, notes }) {
      let reply: TakeReply;
      // Nothing but the question is in here: an exception of any other code is no failure of the store.
      try {
        if (notes?.failed.has(store)) throw new StoreError("WAITED");
        reply = await keepAlive(askStore(store, requestFor(asked)), background);
      } catch (error) {
        notes?.failed.set(store, undefined);
        const failed = { failure: failureOf(error).code, unanswered: asked.lines };
        const none = { source: "fallback", atMs: 0, replies: [], taken: [], ...failed };
        const isDenied = mustHear || asked.lines.some(({ onFailure }) => onFailure === "deny");
        if (isDenied) return { outcome: "unavailable", ...none };
        const lines = asked.lines.filter(({ onFailure }) => onFailure === "local");
        if (lines.length === 0) return { outcome: "admitted", ...none };
        const counted = { ...asked, lines };
        return { ...answerOf(counted, await own.take(requestFor(counted)), "fallback", byOwn), ...failed };
      }
      return answerOf(asked, reply, store.kind, byStore);
    },

    async known(asked) {
      // The counts of a store in memory are the isolate's own.
      if (store.kind !== "memory") return undefined;
      const reply = await store.take({ ...requestFor(asked), flag: Flag.look });
      return reply.allowed ? undefined : answerOf(asked, reply, store.kind, byStore);
    },

    surelyRefuses: () => false,
    returned() {},
    reset: (keys) => store.reset(keys),
    // It calls the store every time: nothing is owed.
    async close() {},
  };
}

function settlerOf(store: Store): Settler {
  const make = async (request: TakeRequest) => void (await askStore(store, request).catch(failureOf));
  return {
    settle: (changes) => makeCalls(changes, false, make),
    renew: (charges) =>
      askStore(store, renewal(charges)).then(
        () => true,
        (error) => failureOf(error).code !== "SUBREQUESTS",
      ),
  };
}
