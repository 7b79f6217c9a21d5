/**
 * What one isolate adds to a store that it shares with other isolates: one memory for each place (memory.ts), and the
 * flows between the memory and the store (flows/). A limiter with a memory store does not carry this file.
 */

import type { Decision } from "../core/decision.ts";
import { Flag, type KeyRequest, type TakeRequest } from "../core/take.ts";
import { createThrown } from "../lines.ts";
import { isStoreError, type StoreFailure } from "../store/failure.ts";
import type { Store } from "../store/store.ts";
import { wasReset } from "./calls.ts";
import { callStore, resetKeys } from "./flows/call.ts";
import { refusalUnderLeases, takeLeased } from "./flows/leased.ts";
import { attempt, nowAt, type Place } from "./flows/place.ts";
import { tellAfterReply } from "./flows/repay.ts";
import { type Noted, type NoteOptions, noteUnanswered, settle } from "./flows/settle.ts";
import { answerShared } from "./flows/shared.ts";
import { refusalUnderStrict, takeStrict } from "./flows/strict.ts";
import { forgettable } from "./forget.ts";
import { giveBackLater } from "./give-backs.ts";
import { lookedAt } from "./leased-takes.ts";
import type { IsolateListener } from "./listener.ts";
import { type Losses, lossWarning, newLosses } from "./losses.ts";
import { type Memory, newMemory } from "./memory.ts";
import { takeAlone } from "./own-counts.ts";
import { knownBeside, surelyRefuses, TRUSTED_ALONE_MS } from "./refusals.ts";
import {
  type Background,
  type Consistency,
  type DecisionNotes,
  keepAlive,
  type ReplySource,
  type SourcedReply,
} from "./reply-source.ts";
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

export interface Isolate {
  /** Replies instead of the store. It calls the store only if nothing in the isolate can answer. */
  readonly replies: ReplySource;
  /**
   * The refusal of a take that this isolate knows by itself; undefined if the store has to be called. Charges and calls
   * nothing. @param background and @param consistency as for `ReplySource`.
   */
  refusal(request: TakeRequest, background: Background | undefined, consistency: Consistency): SourcedReply | undefined;
  /** Whether the store would surely refuse this key, although nobody may know for how long. Calls nothing. */
  surelyRefuses(key: KeyRequest): boolean;
  /** What this isolate knows about a take that another place refuses. undefined: the store has to be called. */
  beside(request: TakeRequest): SourcedReply | undefined;
  /** Replies by the isolate's own counts. @param failure why the store has none. @param notes as for `ReplySource`. */
  alone(failure: StoreFailure, notes?: DecisionNotes): Pick<ReplySource, "take">;
  /** Notes a take that was decided without the store. */
  note(decision: Decision, keys: readonly KeyRequest[], failure: StoreFailure, options: NoteOptions): Noted;
  /** Settles what the store has charged. Never rejects because of the store. */
  settle(request: TakeRequest, background?: Background): Promise<void>;
  /**
   * A give-back has failed: what may be given back again is, after the next replies of the store. @param since the last
   * number that had been given away when it began. Default: now.
   */
  giveBackLater(request: TakeRequest, failure: StoreFailure, since?: number): void;
  /** The last number that this isolate has given away. */
  lastNumber(): number;
  /** Whether a key was reset after this number was given away, or perhaps was. */
  wasReset(key: string, since: number): boolean;
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

  const replies: ReplySource = {
    async take(request, background, consistency = "leased", notes) {
      if (consistency === "shared" && (request.flag === Flag.take || request.flag === Flag.look)) {
        const answer = attempt(place, () => answerShared(place, request, background));
        if (answer) return answer;
      }
      if (request.flag === Flag.take) {
        try {
          if (background && consistency === "leased") return await takeLeased(place, request, background, notes);
          return await takeStrict(place, request, background, notes);
        } catch (error) {
          if (isStoreError(error)) throw error;
          // A bug in a shortcut: the store decides. What a lease has charged before it threw lapses with its window.
          reportBug(error);
        }
      }
      const nowMs = timing.nowMs();
      const budgetMs = notes && leftMs(decisionBudget(store.timeoutMs, 0, nowMs, notes), nowMs);
      const reply = await keepAlive(callStore(place, request, { background, budgetMs }), background);
      if (request.flag !== Flag.look || consistency !== "leased") return { reply, source: store.kind };
      const looked = attempt(place, () => lookedAt(memory, request.keys, reply, nowAt(place)));
      return { reply: looked ?? reply, source: store.kind };
    },
    reset: (keys) => resetKeys(place, keys),
  };

  return {
    replies,
    refusal: (request, background, consistency) =>
      attempt(place, () =>
        (background && consistency === "leased" ? refusalUnderLeases : refusalUnderStrict)(place, request),
      ),
    surelyRefuses: (key) => attempt(place, () => surelyRefuses(memory, key, nowAt(place))) ?? false,
    beside: ({ keys }) =>
      attempt(place, () => {
        const reply = knownBeside(memory, keys, nowAt(place));
        return reply && { reply, source: "cache" };
      }),
    alone: ({ timeout }, notes) => ({
      async take(request) {
        // What an earlier attempt may have charged comes back: it must not refuse this one.
        const { call = 0 } = timeout ?? notes?.failed.get(replies) ?? {};
        return { reply: takeAlone(memory, request, nowAt(place), call), source: "fallback" };
      },
    }),
    note: (decision, keys, failure, options) => noteUnanswered(place, decision, keys, failure, options),
    settle: (request, background) => settle(place, request, background),
    giveBackLater: (request, failure, since) => giveBackLater(memory, request, failure, timing.nowMs(), since),
    lastNumber: () => memory.last,
    wasReset: (key, since) => wasReset(memory, key, since),
  };
}
