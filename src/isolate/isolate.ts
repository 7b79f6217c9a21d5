/** What one isolate adds to a store that it shares with others. Apart from the limiter, because a memory store needs none of it. */

import type { Store } from "../store/store.ts";
import { createFallback, type Fallback } from "./fallback/fallback.ts";
import { localFirst } from "./local-first.ts";
import { createDebts } from "./repay/debts.ts";
import { createMissed, type Missed } from "./repay/missed.ts";
import { createUnreleasedSlots, type UnreleasedSlots } from "./repay/unreleased-slots.ts";
import type { ReplySource } from "./reply-source.ts";
import type { Timing } from "./timing.ts";

/** A store far away: it is asked as seldom as possible, and it can fail. */
export interface RemoteStore extends Store {
  /** Makes what one limiter of this isolate keeps beside the store. */
  isolate(): Isolate;
}

export interface Isolate {
  /** Replies in place of the store, which it asks only when it has to. */
  readonly replies: ReplySource;
  /** Replies while the store has no answer. */
  readonly fallback: Fallback;
  /** What the store is to hear when it answers again. */
  readonly missed: Missed;
  /** Slots that the store has yet to free. */
  readonly unreleased: UnreleasedSlots;
}

/** @param timing the clock and timers of the isolate; tests and the simulator replace them. */
export function remoteStore(store: Store, timing?: Timing): RemoteStore {
  return {
    ...store,
    isolate() {
      const [debts, unreleased] = [createDebts(), createUnreleasedSlots()];
      const fallback = createFallback(store, debts);
      const replies = localFirst(fallback.watched, timing);
      return { replies, fallback, missed: createMissed(fallback.watched, debts, unreleased), unreleased };
    },
  };
}

/** What a limiter keeps beside this store. Undefined for a store in memory. */
export function isolateOf(store: Store): Isolate | undefined {
  return "isolate" in store ? (store as RemoteStore).isolate() : undefined;
}
