/**
 * What one isolate adds to a store that it shares with other isolates: one memory for each place (memory.ts), and the
 * flows between the memory and the store (flows/). A limiter with a memory store does not carry this file.
 */

import { createThrown } from "../lines.ts";
import { failureOf, isStoreError, lateReplyOf } from "../store/failure.ts";
import { type Store, StoreError } from "../store/store.ts";
import { resetKeys } from "./flows/call.ts";
import { closePlace } from "./flows/close.ts";
import { answerWithout } from "./flows/outage.ts";
import { attempt, nowAt, type Place, type SourcedReply, type Wrap } from "./flows/place.ts";
import { tellAfterReply } from "./flows/repay.ts";
import { renew, settle } from "./flows/settle.ts";
import { answerStrictly, askStore, refusalUnderStrict } from "./flows/strict.ts";
import { forgettable } from "./forget.ts";
import type { IsolateListener, ListenerOf } from "./listener.ts";
import { type Losses, lossWarning, newLosses } from "./losses.ts";
import { type Memory, newMemory } from "./memory.ts";
import { knownBeside, surelyRefuses, TRUSTED_ALONE_MS } from "./refusals.ts";
import { forgetRefusals } from "./replies.ts";
import {
  type Answer,
  type AskedRequest,
  answerOf,
  type Call,
  type Inquiry,
  type Line,
  requestFor,
  requestOf,
  type Settler,
  type Taker,
} from "./taker.ts";
import { LOCAL_TIMING, type Timing } from "./timing.ts";

/** A store that is far away: it is called as seldom as possible, and it can fail. */
interface StoreWithIsolate extends Store {
  /** Makes what one limiter of this isolate keeps beside the store. */
  isolate(options?: IsolateOptions): Isolate;
  /** What its operator must change because the store loses counts. Undefined: nothing is known to be lost. */
  lossWarning(): string | undefined;
}

export interface IsolateOptions {
  /** For how long a reply may refuse other requests, in milliseconds. Default 5,000. */
  readonly trustedMs?: (() => number) | undefined;
  /** Absent: nobody listens. */
  readonly listener?: IsolateListener | undefined;
  /** A number from 0 to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** What the store is found to have lost. Default: nothing yet. */
  readonly losses?: Losses | undefined;
  /** What the isolate knows. Only the explorer of scripts/verify looks into it. Default: nothing yet. */
  readonly memory?: Memory | undefined;
  /** How it may answer in the place's stead. Default: it does not. */
  readonly wraps?: readonly Wrap[] | undefined;
}

/** The takers over one memory, or over those of several places. */
export interface Takers<T extends Taker = Taker> {
  /** The store makes every admission. */
  readonly strict: T;
  /** As this wrap does; it is one of those that the isolate was made with. */
  wrapped(wrap: Wrap): T;
}

/** What takers are made with. */
export interface TakersOptions {
  /** Absent: nobody listens. */
  readonly listenerOf?: ListenerOf | undefined;
  /** Default: none. */
  readonly wraps?: readonly Wrap[] | undefined;
}

/** One memory, and takers over it. */
export type Isolate = Takers<PlaceTaker>;

export interface PlaceTaker extends Taker {
  /** What this isolate knows about lines of a request that another place refuses. Undefined: the store has to tell. */
  beside<L extends Line>(ask: Inquiry<L>): Answer<L> | undefined;
}

/** @param timing the isolate's clock and timers. Tests and the simulation replace them. @param random from 0 to 1. */
export function withIsolate(store: Store, timing = LOCAL_TIMING, random?: () => number): StoreWithIsolate {
  const losses = newLosses();
  return {
    ...store,
    isolate: (options) => createIsolate(store, timing, { random, losses, ...options }),
    lossWarning: () => lossWarning(losses, store.kind, timing.nowMs()),
  };
}

/** What a limiter keeps beside this store. undefined for a store in memory. */
export function isolateOf(store: Store, options?: IsolateOptions): Isolate | undefined {
  return (store as Partial<StoreWithIsolate>).isolate?.(options);
}

/** What the operator of a store must change because it loses counts, as far as the limiters of this isolate know. */
export function lossWarningOf(store: Store): string | undefined {
  return (store as Partial<StoreWithIsolate>).lossWarning?.();
}

export function createIsolate(
  store: Store,
  timing: Timing = LOCAL_TIMING,
  {
    trustedMs = () => TRUSTED_ALONE_MS,
    listener,
    random = Math.random,
    losses,
    memory = forgettable(newMemory(store.timeoutMs, listener !== undefined, losses)),
    wraps = [],
  }: IsolateOptions = {},
): Isolate {
  // Every request may meet the same bug.
  const reportBug = createThrown("a bug in headgate, please report it; the store decides alone", 1);
  const onReply: Place["onReply"] = (heard, background) => {
    tellAfterReply(place, heard, background);
    if (!memory.losses.isUntold) return;
    memory.losses.isUntold = false;
    console.warn(JSON.stringify({ event: "note", note: lossWarning(memory.losses, store.kind, timing.nowMs()) }));
  };
  const ending = { calls: 0, isClosed: false };
  const place: Place = { store, memory, timing, random, trustedMs, reportBug, listener, onReply, wraps, ending };
  return { strict: takerOf(place), wrapped: (wrap) => takerOf(place, wrap) };
}

/** @param wrap undefined: the store makes every admission. */
function takerOf(place: Place, wrap?: Wrap): PlaceTaker {
  const { store, memory, ending } = place;
  const byStore: Settler = {
    settle: (changes, call) => settle(place, changes, call),
    renew: (charges, call) => renew(place, charges, call),
  };

  /** Of a refusal: it has charged nothing. */
  const nothing = { since: 0, by: byStore };

  const answerAs = wrap ? answerBy(wrap) : answerStrictly;

  /** @throws {StoreError} */
  async function answer(request: AskedRequest, call: Call): Promise<SourcedReply> {
    try {
      return await answerAs(place, request, call);
    } catch (error) {
      if (isStoreError(error)) throw error;
      // A bug in a shortcut: the store decides. What a lease has charged before it threw lapses with its window.
      place.reportBug(error);
      return await askStore(place, request, call);
    }
  }

  return {
    async take(asked, call) {
      const { notes } = call;
      const since = memory.last;
      let sourced: SourcedReply;
      try {
        // Its store has surely charged nothing.
        if (notes?.failed.has(memory)) throw new StoreError("WAITED");
        sourced = await answer(requestFor(asked), call);
      } catch (error) {
        const failure = failureOf(error);
        if (failure.code === "CROSSSLOT") {
          memory.isApart = true;
          if (call.mayBeApart) return { outcome: "apart", source: store.kind, atMs: 0, replies: [], taken: [] };
        }
        const earlier = notes?.failed.get(memory);
        if (notes && !notes.failed.has(memory)) notes.failed.set(memory, lateReplyOf(error));
        return answerWithout(place, asked, call, failure, (failure.timeout ?? earlier)?.call ?? 0);
      }
      return answerOf(asked, sourced.reply, sourced.source, { since, by: sourced.by ?? byStore });
    },

    async known(asked, call) {
      const request = requestFor(asked);
      const sourced = attempt(place, () =>
        wrap && !ending.isClosed ? wrap.known(place, request, call) : refusalUnderStrict(place, request),
      );
      return sourced && answerOf(asked, sourced.reply, sourced.source, nothing);
    },

    beside(asked) {
      const reply = attempt(place, () => knownBeside(memory, asked.lines.map(requestOf), nowAt(place)));
      return reply && answerOf(asked, reply, "cache", nothing);
    },

    // A wrap may have units although the store has none.
    surelyRefuses: ({ request }) =>
      !wrap && (attempt(place, () => surelyRefuses(memory, request, nowAt(place))) ?? false),
    returned: (keys) => forgetRefusals(memory, keys),
    reset: (keys) => resetKeys(place, keys),
    close: (withinMs) => closePlace(place, withinMs),
  };
}

function answerBy(wrap: Wrap): typeof answerStrictly {
  return (place, request, call) => {
    const answer = place.ending.isClosed ? undefined : wrap.answer(place, request, call);
    return answer ?? answerStrictly(place, request, call);
  };
}
