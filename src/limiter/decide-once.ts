/** A decision in one call of one store, and what happens if the store has no answer. */

import { Flag } from "../core/take.ts";
import type { Isolate } from "../isolate/isolate.ts";
import { direct } from "../isolate/reply-source.ts";
import { failureOf } from "../store/failure.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { type Answered, type Asked, type Decider, decideFor, type PolicyKey, unavailable } from "./decide.ts";

/**
 * @param isolate what this isolate keeps beside the store. Absent: nothing.
 * @param inParts decides if the store cannot decide over all keys in one call (`CROSSSLOT`: nothing was charged).
 */
export function createDecideOnce(store: Store, isolate?: Isolate, inParts?: Decider["decide"]): Decider {
  const replies = isolate?.replies ?? direct(store);
  const fallback = isolate?.fallback ?? direct(memoryStore(), "fallback");

  /** Each policy says what happens, and the strictest answer wins. */
  async function fallBack(keys: readonly PolicyKey[], { flag, slot }: Asked) {
    const counted = keys.filter(({ policy }) => policy.onStoreFailure === "local");
    const denied = keys.some(({ policy }) => policy.onStoreFailure === "deny" && policy.mode === "enforce");
    if (denied) return unavailable();
    return await decideFor(counted, { replies: fallback, flag, slot });
  }

  return {
    async decide(keys, asked): Promise<Answered> {
      const options = { ...asked, replies, unreleased: isolate?.unreleased };
      try {
        const decision = await decideFor(keys, options);
        isolate?.missed.tell(asked.background);
        return { decision };
      } catch (error) {
        const failure = failureOf(error);
        if (inParts && failure.code === "CROSSSLOT") return inParts(keys, asked);
        let decision = await fallBack(keys, asked);
        const requests = keys.map(({ request }) => request);
        if (asked.flag === Flag.take && isolate) decision = isolate.missed.note(decision, requests, failure, options);
        return { decision, failure: failure.code, silent: keys };
      }
    },
    reset: replies.reset,
  };
}
