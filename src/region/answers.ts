/** Whom a limiter asks: the store, or what this isolate already knows of it. */

import type { Source } from "../core/decision.ts";
import { Flag, type TakeReply, type TakeRequest } from "../core/take.ts";
import type { Store } from "../store/store.ts";
import { rememberCounts } from "./remembered.ts";

/** A reply, and who gave it. */
export interface Answer {
  readonly reply: TakeReply;
  readonly source: Source;
}

export interface Answers {
  /** @throws {StoreError} */
  take(request: TakeRequest): Promise<Answer>;
  /** @throws {StoreError} */
  reset(keys: readonly string[]): Promise<void>;
}

/** Asks the store every time. */
export function direct(store: Store, source: Source = store.kind): Answers {
  return {
    take: async (request) => ({ reply: await store.take(request), source }),
    reset: (keys) => store.reset(keys),
  };
}

/** Asks the store unless the counts that it told last refuse the request by themselves. */
export function remembering(store: Store): Answers {
  const counts = rememberCounts();

  return {
    async take(request) {
      const sentAtMs = Date.now();
      const refusal = request.flag === Flag.take ? counts.refusal(request, sentAtMs) : undefined;
      if (refusal) return { reply: refusal, source: "cache" };
      const reply = await store.take(request);
      // Renewing and releasing ask for some limits of a key only.
      if (request.flag === Flag.take || request.flag === Flag.look) counts.learn(request, reply, sentAtMs, Date.now());
      return { reply, source: store.kind };
    },
    async reset(keys) {
      counts.forget(keys);
      await store.reset(keys);
      // A refusal that was on its way meanwhile must not bring the old counts back.
      counts.forget(keys);
    },
  };
}
