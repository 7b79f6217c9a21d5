/**
 * What one isolate adds to a store that it shares with other isolates: one memory for each place (memory.ts), and the
 * flows between the memory and the store (flows/). A limiter with a memory store does not carry this file.
 */

import { Flag, type TakeRequest } from "../core/take.ts";
import { createThrown } from "../lines.ts";
import { failureOf, isStoreError, lateReplyOf } from "../store/failure.ts";
import { type Store, StoreError } from "../store/store.ts";
import { callStore, resetKeys } from "./flows/call.ts";
import { refusalUnderLeases, takeLeased } from "./flows/leased.ts";
import { answerWithout } from "./flows/outage.ts";
import { attempt, nowAt, type Place, type SourcedReply } from "./flows/place.ts";
import { tellAfterReply } from "./flows/repay.ts";
import { renew, settle } from "./flows/settle.ts";
import { answerShared } from "./flows/shared.ts";
import { refusalUnderStrict, takeStrict } from "./flows/strict.ts";
import { forgettable } from "./forget.ts";
import { lookedAt } from "./leased-takes.ts";
import type { IsolateListener } from "./listener.ts";
import { type Losses, lossWarning, newLosses } from "./losses.ts";
import { type Memory, newMemory } from "./memory.ts";
import { knownBeside, surelyRefuses, TRUSTED_ALONE_MS } from "./refusals.ts";
import {
  type Answer,
  answerOf,
  type Call,
  type Consistency,
  type Inquiry,
  keepAlive,
  type Line,
  requestFor,
  requestOf,
  type Settler,
  type Taker,
} from "./taker.ts";
import { decisionBudget, LOCAL_TIMING, leftMs, type Timing } from "./timing.ts";

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
}

/** One memory, and a taker for each consistency over it. */
export type Isolate = Readonly<Record<Consistency, PlaceTaker>>;

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
  }: IsolateOptions = {},
): Isolate {
  // Every request may meet the same bug.
  const reportBug = createThrown("a bug in headgate, please report it; the store decides without this isolate", 1);
  const onReply: Place["onReply"] = (heard, background) => {
    tellAfterReply(place, heard, background);
    if (!memory.losses.isUntold) return;
    memory.losses.isUntold = false;
    console.warn(JSON.stringify({ event: "note", note: lossWarning(memory.losses, store.kind, timing.nowMs()) }));
  };
  const place: Place = { store, memory, timing, random, trustedMs, reportBug, listener, onReply };
  return { strict: takerOf(place, STRICT), leased: takerOf(place, LEASED), shared: takerOf(place, SHARED) };
}

/** How an isolate answers for its place. */
interface Way {
  /** A take. @throws {StoreError} */
  take(place: Place, request: TakeRequest, call: Call): SourcedReply | Promise<SourcedReply>;
  /** A look, from what the store said about it. Absent: as the store said it. */
  look?(place: Place, request: TakeRequest, asked: SourcedReply): SourcedReply;
  /** A take or a look that needs no answer of the store. Absent: every one needs it. */
  alone?(place: Place, request: TakeRequest, call: Call): SourcedReply;
  /** The refusal that is known without a call. */
  known(place: Place, request: TakeRequest, call: Call): SourcedReply | undefined;
}

const askStrictly: Way["take"] = (place, request, { background, notes }) =>
  takeStrict(place, request, background, notes);

// Bundlers keep what is spread, or read from an object, here: a limiter over a store in memory would carry all of it.
const STRICT: Way = { take: askStrictly, known: refusalUnderStrict };

const LEASED: Way = {
  take(place, request, call) {
    const { background, notes } = call;
    return background ? takeLeased(place, request, background, notes) : askStrictly(place, request, call);
  },
  look(place, { keys }, { reply, source }) {
    return { reply: lookedAt(place.memory, keys, reply, nowAt(place)), source };
  },
  known: (place, request, { background }) =>
    background ? refusalUnderLeases(place, request) : refusalUnderStrict(place, request),
};

const SHARED: Way = {
  take: askStrictly,
  alone: (place, request, { background }) => answerShared(place, request, background),
  known: () => undefined,
};

function takerOf(place: Place, way: Way): PlaceTaker {
  const { store, memory, timing } = place;
  const byStore: Settler = {
    settle: (changes, call) => settle(place, changes, call),
    renew: (charges) => renew(place, charges),
  };

  /** Of a refusal: it has charged nothing. */
  const nothing = { since: 0, by: byStore };

  /** @throws {StoreError} */
  async function ask(request: TakeRequest, call: Call): Promise<SourcedReply> {
    const { background, notes } = call;
    const alone = way.alone && attempt(place, () => way.alone!(place, request, call));
    if (alone) return alone;
    if (request.flag === Flag.take) {
      try {
        return await way.take(place, request, call);
      } catch (error) {
        if (isStoreError(error)) throw error;
        // A bug in a shortcut: the store decides. What a lease has charged before it threw lapses with its window.
        place.reportBug(error);
      }
    }
    const nowMs = timing.nowMs();
    const budgetMs = notes && leftMs(decisionBudget(store.timeoutMs, 0, nowMs, notes), nowMs);
    const reply = await keepAlive(callStore(place, request, { background, budgetMs }), background);
    const asked = { reply, source: store.kind };
    if (request.flag !== Flag.look || !way.look) return asked;
    return attempt(place, () => way.look!(place, request, asked)) ?? asked;
  }

  return {
    async take(asked, call) {
      const { notes } = call;
      const since = memory.last;
      let sourced: SourcedReply;
      try {
        // Its store has surely charged nothing.
        if (notes?.failed.has(memory)) throw new StoreError("WAITED");
        sourced = await ask(requestFor(asked), call);
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
      const sourced = attempt(place, () => way.known(place, requestFor(asked), call));
      return sourced && answerOf(asked, sourced.reply, sourced.source, nothing);
    },

    beside(asked) {
      const reply = attempt(place, () => knownBeside(memory, asked.lines.map(requestOf), nowAt(place)));
      return reply && answerOf(asked, reply, "cache", nothing);
    },

    surelyRefuses: ({ request }) => attempt(place, () => surelyRefuses(memory, request, nowAt(place))) ?? false,
    reset: (keys) => resetKeys(place, keys),
  };
}
