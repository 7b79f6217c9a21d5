/** Whom a limiter asks: the store, or what this isolate already knows of it (regional.ts). */

import type { Source } from "../core/decision.ts";
import type { TakeReply, TakeRequest } from "../core/take.ts";
import type { Store } from "../store/store.ts";

/** A reply, and who gave it. */
export interface Answer {
  readonly reply: TakeReply;
  readonly source: Source;
}

/** What keeps work alive after the answer: an `ExecutionContext`, for example. */
export interface Background {
  /** Keeps the runtime from ending this work with the answer. */
  waitUntil(work: Promise<unknown>): void;
}

export interface Answers {
  /**
   * @param leasedIn every policy of the request agrees to leases; this is where their asks go on. Absent: strict.
   *
   * @throws {StoreError}
   */
  take(request: TakeRequest, leasedIn?: Background): Promise<Answer>;
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
