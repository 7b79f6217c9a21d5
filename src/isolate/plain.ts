/** A store as it is, without an isolate: a store in memory, or one that an app has written and not wrapped. */

import { Flag, type TakeReply, type TakeRequest } from "../core/take.ts";
import { askStore, failureOf } from "../store/failure.ts";
import { memoryStore } from "../store/memory.ts";
import { type Store, StoreError } from "../store/store.ts";
import { makeCalls, renewal } from "./changes.ts";
import { type Answer, type Inquiry, keepAlive, type Line, requestOf, type Settler, type Taker } from "./taker.ts";

/** Calls the store every time. While it has no answer, this limiter counts by itself. */
export function plainTaker(store: Store): Taker {
  const own = memoryStore();
  const [byStore, byOwn] = [settlerOf(store), settlerOf(own)];
  const requestFor = ({ lines, flag, slot }: Inquiry): TakeRequest => ({ keys: lines.map(requestOf), flag, slot });

  function answerOf<L extends Line>(
    { lines, slot }: Inquiry<L>,
    reply: TakeReply,
    source: string,
    by: Settler,
  ): Answer<L> {
    const { allowed, nowMs: atMs, charged: receipts } = reply;
    const taken = receipts.length > 0 ? [{ receipts, slot, since: 0, by }] : [];
    return { outcome: allowed ? "admitted" : "refused", source, atMs, replies: [{ lines, reply, source }], taken };
  }

  return {
    async take(asked, { background, mustHear, notes }) {
      try {
        if (notes?.failed.has(store)) throw new StoreError("WAITED");
        const reply = await keepAlive(askStore(store, requestFor(asked)), background);
        return answerOf(asked, reply, store.kind, byStore);
      } catch (error) {
        notes?.failed.set(store, undefined);
        const failed = { failure: failureOf(error).code, unanswered: asked.lines };
        if (mustHear || asked.lines.some(({ onFailure }) => onFailure === "deny")) {
          return { outcome: "unavailable", source: "fallback", atMs: 0, replies: [], taken: [], ...failed };
        }
        const counted = { ...asked, lines: asked.lines.filter(({ onFailure }) => onFailure === "local") };
        return { ...answerOf(counted, await own.take(requestFor(counted)), "fallback", byOwn), ...failed };
      }
    },

    async known(asked) {
      // The counts of a store in memory are the isolate's own.
      if (store.kind !== "memory") return undefined;
      const reply = await store.take({ ...requestFor(asked), flag: Flag.look });
      return reply.allowed ? undefined : answerOf(asked, reply, store.kind, byStore);
    },

    surelyRefuses: () => false,
    reset: (keys) => store.reset(keys),
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
