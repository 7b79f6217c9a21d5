/** Where a limiter gets its replies: from the store, or from what this isolate knows of the store (isolate.ts). */

import type { Source } from "../core/decision.ts";
import type { Policy } from "../core/policy.ts";
import type { TakeReply, TakeRequest } from "../core/take.ts";
import { askStore, isStoreError, lateReplyOf } from "../store/failure.ts";
import { type LateReply, type Store, StoreError } from "../store/store.ts";

/** A reply, and where it comes from. */
export interface SourcedReply {
  readonly reply: TakeReply;
  readonly source: Source;
  /**
   * Takes the units of these groups back, as if the request had not been admitted: another place has refused it. Leased
   * units are leased again. Call it at most once. Absent: the store has charged the request.
   *
   * @param groups default: all.
   */
  returnUnits?(groups?: ReadonlySet<number>): void;
}

/** Who admits a request: the store (`strict`), or the isolate by units that it has leased, or by its part. */
export type Consistency = Policy["consistency"];

/** Keeps work alive after the answer: an `ExecutionContext`, for example. */
export interface Background {
  /** Tells the runtime not to end this work with the answer. */
  waitUntil(work: Promise<unknown>): void;
}

/** What several attempts of one decision share. Those who ask write into it. */
export interface DecisionNotes {
  /** When the first attempt began, by the local clock, in ms since the epoch. Absent: it has not begun. */
  beganAtMs?: number;
  /** Who had no answer to an earlier attempt, with the answer that may still come. */
  readonly failed: Map<Pick<ReplySource, "take">, LateReply | undefined>;
}

export interface ReplySource {
  /**
   * @param background keeps a call to the store alive if the request ends before the reply. Absent: nothing is leased.
   * @param consistency the strongest that a policy of the request asks for. Default: `leased`. A look then tells units
   * that this isolate has leased as free. Under `shared` the store is told in the background.
   * @param notes whose time the call shares. Absent: the decision has no other call.
   *
   * @throws {StoreError}
   */
  take(
    request: TakeRequest,
    background?: Background,
    consistency?: Consistency,
    notes?: DecisionNotes,
  ): Promise<SourcedReply>;
  /** @throws {StoreError} */
  reset(keys: readonly string[]): Promise<void>;
}

/** Calls the store every time. */
export function direct(store: Store, source: Source = store.kind): ReplySource {
  return {
    take: async (request, background) => ({ reply: await keepAlive(askStore(store, request), background), source }),
    reset: (keys) => store.reset(keys),
  };
}

/**
 * Asks for a reply. Who had no answer to an earlier attempt of the decision is not asked again: its store has surely
 * charged nothing.
 *
 * @throws {StoreError}
 */
export function askOnce(
  replies: Pick<ReplySource, "take">,
  request: TakeRequest,
  background: Background | undefined,
  consistency: Consistency | undefined,
  notes: DecisionNotes | undefined,
): Promise<SourcedReply> {
  if (!notes) return replies.take(request, background, consistency);
  if (notes.failed.has(replies)) return Promise.reject(new StoreError("WAITED"));
  return replies.take(request, background, consistency, notes).catch((error) => {
    // A cluster with keys in several hash slots is asked in parts.
    if ((error as Partial<StoreError>).code !== "CROSSSLOT") notes.failed.set(replies, lateReplyOf(error));
    throw error;
  });
}

/**
 * Lets work go on if the request that began it ends: a client that goes away leaves no charge undone and no slot taken.
 */
export function keepAlive<T>(work: Promise<T>, background: Background | undefined): Promise<T> {
  try {
    background?.waitUntil(work.catch(() => {}));
  } catch {
    // The platform has no context for this request any more. The call is on its way: asking again would charge twice.
  }
  return work;
}

/** For work whose outcome nobody needs. @throws any error that is not a `StoreError`. */
export function ignoreStoreError(error: unknown): void {
  if (!isStoreError(error)) throw error;
}
