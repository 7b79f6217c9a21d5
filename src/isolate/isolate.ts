/**
 * What one isolate adds to a store that it shares with other isolates, and how these parts are put together. A limiter
 * with a memory store does not carry this file.
 */

import { Flag, type TakeRequest } from "../core/take.ts";
import { isStoreError } from "../store/failure.ts";
import type { Store } from "../store/store.ts";
import { createFallback } from "./fallback/fallback.ts";
import { trackUnanswered } from "./fallback/unanswered.ts";
import { createKnownRefusals } from "./known-refusals.ts";
import { createLeasedTakes } from "./leases/take-leased.ts";
import type { IsolateListener } from "./listener.ts";
import { createOwnErrors } from "./own-errors.ts";
import { countPendingUnits } from "./pending-units.ts";
import { createDebts } from "./repay/debts.ts";
import { createMissedByStore, type MissedByStore } from "./repay/missed-by-store.ts";
import { createUnreleasedSlots, type UnreleasedSlots } from "./repay/unreleased-slots.ts";
import { type Background, keepAlive, type ReplySource, type SourcedReply } from "./reply-source.ts";
import { createStoreCalls } from "./store-calls.ts";
import { createStoreClock } from "./store-clock.ts";
import { createStrictTakes } from "./take-strict.ts";
import { LOCAL_TIMING, type Timing } from "./timing.ts";
import { createToldCounts } from "./told-counts.ts";

/** A store that is far away: it is called as seldom as possible, and it can fail. */
interface StoreWithIsolate extends Store {
  /** Makes the parts that one limiter of this isolate keeps beside the store. */
  isolate(options?: IsolateOptions): Isolate;
}

export interface IsolateOptions {
  /** For how long a reply may refuse other requests, in milliseconds. Default 5,000. */
  readonly trustedMs?: (() => number) | undefined;
  /** Absent: nobody listens. */
  readonly listener?: IsolateListener | undefined;
}

export interface Isolate {
  /** Replies instead of the store. It calls the store only if nothing in the isolate can answer. */
  readonly replies: ReplySource;
  /**
   * The refusal of a take that this isolate knows by itself; undefined if the store has to be called. Charges and calls
   * nothing. @param background and @param mayLease as for `ReplySource`.
   */
  refusal(request: TakeRequest, background: Background | undefined, mayLease: boolean): SourcedReply | undefined;
  /** What this isolate knows about a take that another place refuses. undefined: the store has to be called. */
  beside(request: TakeRequest): SourcedReply | undefined;
  /** Replies while the store has no answer. */
  readonly fallback: ReplySource;
  /** What the store must be told when it answers again. */
  readonly missed: MissedByStore;
  /** Slots that the store must still free. */
  readonly unreleased: UnreleasedSlots;
}

/** @param timing the isolate's clock and timers. Tests and the simulation replace them. */
export function withIsolate(store: Store, timing?: Timing): StoreWithIsolate {
  return { ...store, isolate: (options) => createIsolate(store, timing, options) };
}

/** The parts that a limiter keeps beside this store. undefined for a store in memory. */
export function isolateOf(store: Store, options?: IsolateOptions): Isolate | undefined {
  return (store as Partial<StoreWithIsolate>).isolate?.(options);
}

/** One clock and one memory of replies. All calls to the store go through `calls`. */
export function createIsolate(
  store: Store,
  timing: Timing = LOCAL_TIMING,
  { trustedMs, listener }: IsolateOptions = {},
): Isolate {
  const clock = createStoreClock();
  const [inFlight, waiting] = [countPendingUnits(), countPendingUnits()];
  const told = createToldCounts(waiting);
  const unanswered = trackUnanswered(store.timeoutMs);
  const onClockStep = () => leased.clear();
  const ownErrors = createOwnErrors();
  const shared = { timing, clock, ownErrors, listener };
  const calls = createStoreCalls({ ...shared, store, told, inFlight, unanswered, onClockStep });

  const refusals = createKnownRefusals({ told, clock, inFlight, trustedMs });
  const strict = createStrictTakes({ calls, refusals, waiting, timing });
  const leased = createLeasedTakes({ ...shared, calls, refusals });

  const [debts, unreleased] = [createDebts(), createUnreleasedSlots()];
  const fallback = createFallback({ told, clock, unanswered, debts, timing });

  const replies: ReplySource = {
    async take(request, background, mayLease = true) {
      if (request.flag === Flag.take) {
        try {
          return await (background && mayLease ? leased : strict).take(request, background!);
        } catch (error) {
          if (isStoreError(error)) throw error;
          // A bug in a shortcut: the store decides. What a lease has charged before it threw lapses with its window.
          ownErrors.report(error);
        }
      }
      const reply = await keepAlive(calls.take(request, { background }), background);
      const looked = request.flag === Flag.look && mayLease && ownErrors.attempt(() => leased.looked(request, reply));
      return { reply: looked || reply, source: store.kind };
    },

    async reset(keys) {
      told.forgetRefusals(keys);
      leased.forget(keys);
      await calls.reset(keys);
      // A reply that was on its way must not bring the old counts back.
      told.forget(keys);
      leased.forget(keys);
      await fallback.reset(keys);
      debts.forget(keys);
    },
  };
  return {
    replies,
    refusal: (request, background, mayLease) =>
      ownErrors.attempt(() => (background && mayLease ? leased : strict).refusal(request)),
    beside: (request) =>
      ownErrors.attempt(() => {
        const reply = refusals.beside(request, timing.nowMs());
        return reply && { reply, source: "cache" };
      }),
    fallback,
    missed: createMissedByStore({ calls, fallback, debts, unreleased, told }),
    unreleased,
  };
}
