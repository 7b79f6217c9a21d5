/** What every algorithm does in a take. Each of the files beside this one implements one algorithm. */

import { MAX_EXACT } from "./layout.ts";

export { Kind } from "./layout.ts";

/** What an algorithm may need of a decision, apart from the cost. */
export interface Instant {
  /** By the store's clock, ms since the epoch. */
  readonly nowMs: number;
  /**
   * An instant of the limit's bucket to give back to, ms since the epoch. Of a charge: an instant of the calendar
   * period to charge; 0: the present one.
   */
  readonly atMs: number;
  /** The number of this request. */
  readonly slot: number;
}

/** The value of a limit key. */
export interface KeptValue<K> {
  readonly value: K;
  /** After this many ms the value counts for nothing. */
  readonly expiryMs: number;
}

/** A limit in the terms of clients: units, and the time in which they come back. */
export interface Quota {
  /** The most units that are ever admitted at once. */
  readonly quota: number;
  /**
   * The time in which the whole quota comes back, in ms; may be a fraction. Absent if nobody can know: units come back
   * when other requests end.
   */
  readonly windowMs?: number;
}

/** What a client learns about one limit. Durations are in ms from the decision on. */
export interface LimitStatus {
  /** The largest cost that would be admitted now, after this decision. */
  readonly remaining: number;
  /** The time until the requested cost would be admitted; 0 if it was. Absent: never, the cost is above the limit. */
  readonly retryAfterMs?: number;
  /** The time until `remaining` grows. Absent: it is at its maximum, or nobody can know. */
  readonly growsAfterMs?: number;
  /** The time until the limit is as if nothing had been counted. */
  readonly resetAfterMs: number;
  /** How long the admitted request must be delayed. Absent: it is not delayed. */
  readonly delayMs?: number;
  /** The length of the present period. Absent: it is always that of the limit's `quota`. */
  readonly windowMs?: number;
}

/**
 * Units of a bucket are leased for at most this part of a window, and for at most `MAX_LEASED_MS`: unspent units keep
 * other isolates waiting.
 */
const LEASED_PART = 1 / 20;
const MAX_LEASED_MS = 5_000;

export function leasedMs(windowMs: number): number {
  return Math.min(windowMs * LEASED_PART, MAX_LEASED_MS);
}

/** The records of an algorithm. It has one for each limit, among the records of the key. */
interface Records<R, S> {
  /** What is stored of a state. */
  of(state: S): R;
  /**
   * The numbers of a record, apart from its kind. The first one is a time in ms. With `buckets`, a record has a list of
   * `counts` too.
   */
  readonly numbers: readonly string[];
  /** Until when a record means something to a configuration whose numbers nobody knows, ms since the epoch. */
  endsAtMs(record: R): number;
}

/** The values of an algorithm. It has one for each limit, under the limit key beside the records. */
interface Values<L, S, K> {
  kept(state: S, limit: L, nowMs: number): KeptValue<K> | undefined;
  /** The value that a text says, where a storage keeps nothing else. undefined: the text says no such value. */
  parse(json: unknown): K | undefined;
  /** Whether reading has dropped something that is stored. If so, the result is written whatever is decided. */
  dropped(state: S): boolean;
  /** Only for a long list of entries, oldest first, each with its instant `atMs`: a storage may keep it in parts. */
  readonly list?: {
    /** The list as integers, in a fifth of the length. */
    pack(entries: K): readonly number[];
    /** The entries of a part. undefined: it is damaged. */
    unpack(packed: unknown): K | undefined;
  };
}

/** How to spend units that were charged ahead of their request. The algorithm is a `counter`. */
interface Leasing<L, V> {
  /**
   * Until when units charged at an instant may be spent. Spending them later would break the algorithm's promise. Both
   * instants are by the store's clock, in ms since the epoch.
   */
  endsAtMs(limit: L, chargedAtMs: number): number;
  /**
   * The units that everybody has charged, and not given back, in the bucket of the view's instant. Absent if nobody can
   * know: units come back while they wait to be spent.
   */
  inBucket?(view: V): number;
}

/** The periods of a calendar. The script cannot compute them: it is told. Instants are in ms since the epoch. */
interface Periods<L> {
  /** The start of the period that `nowMs` is in, its end, and the end of the next period. */
  boundsAt(limit: L, nowMs: number): readonly [startsAtMs: number, turnsAtMs: number, endsAtMs: number];
  /** The last instant of the period of an instant: the script knows a period to charge or to give back to by it. */
  lastAtMs(limit: L, atMs: number): number;
  /** What no calendar has, and what it should be. */
  misfit(limit: L): { readonly field: string; readonly expected: string } | undefined;
}

/**
 * One algorithm over its own state: the stored counts of a limit, brought to one instant. Pure: a state is never
 * changed in place. The script takes the same steps in the same order.
 *
 * @typeParam L the limit. @typeParam R its stored record. @typeParam S the state. @typeParam V what the script replies
 * about the limit. @typeParam K the value of its limit key.
 */
export interface Algorithm<L, R, S, V, K = never> {
  /** The state at `nowMs`, from what is stored. */
  read(record: R | undefined, value: K | undefined, limit: L, nowMs: number): S;
  admits(state: S, limit: L, cost: number, nowMs: number): boolean;
  charge(state: S, limit: L, cost: number, instant: Instant): S;
  giveBack(state: S, limit: L, cost: number, instant: Instant): S;
  resetAfterMs(state: S, limit: L, nowMs: number): number;
  view(state: S, limit: L, cost: number, refused: boolean): V;
  /**
   * The earliest instant of the bucket that a take has charged, from the view in its reply. It is later than the reply
   * if the clock has stepped back. 0: giving back needs no instant.
   */
  chargedAtMs(view: V, limit: L): number;
  /**
   * The bucket of an instant, as a number that no other bucket of the limit has: what is charged in one bucket can be
   * given back together. 0: giving back needs no instant.
   */
  bucketAt(limit: L, atMs: number): number;

  /**
   * What the script gets about a limit, apart from its number and kind: `a` and `buckets`, which are part of its id,
   * and the arguments after the id. A record has `a` and `buckets` too: they identify its limit.
   */
  encode(limit: L): readonly [a: number, buckets: number, ...more: number[]];
  /** The number of integers in the script's view. */
  viewLength(limit: L): number;
  decode(view: readonly number[], limit: L): V;

  /**
   * What a client is told. It is computed here only, not in the script.
   *
   * @param cost the requested cost. @param refused whether the limit refused it.
   * @param charged whether the view includes the cost if it was admitted; false after a look. Default true.
   */
  tell(view: V, limit: L, cost: number, refused: boolean, nowMs: number, charged?: boolean): LimitStatus;
  /** `remaining` of what a client is told. */
  remaining(view: V, limit: L, nowMs: number): number;
  /**
   * What a remembered view says about `cost` at a later instant: the view at that instant, and whether the limit
   * refuses then if nothing was charged in between. undefined: nobody can know.
   *
   * @param askedCost the cost of the request whose reply the view is.
   */
  recall(
    view: V,
    limit: L,
    nowMs: number,
    askedCost: number,
    cost: number,
  ): { readonly view: V; readonly refused: boolean } | undefined;
  /** Whether the instant at which a refused cost is admitted does not depend on other requests. */
  readonly hasFixedWait: boolean;

  quota(limit: L): Quota;
  /** The most units that a limit can count at once, and its window; of slots, their timeout. */
  capacity(limit: L): { readonly units: number; readonly windowMs: number };
  /** The members of a limit that count units, `limit` first, and the most that each may be. */
  readonly units: Readonly<Record<string, number>>;
  /** What would fit, in words, if the numbers of a limit are too large for exact decisions. */
  tooLarge(limit: L): string | undefined;

  /** Absent: it has no records. */
  readonly records?: Records<R, S>;
  /** Absent: it has no limit keys. */
  readonly values?: Values<L, S, K>;
  /** Absent: its units cannot be leased. */
  readonly lease?: Leasing<L, V>;
  /** Absent: it needs no calendar. */
  readonly periods?: Periods<L>;
}

/** What an algorithm says of itself if its state is its record, and its record is what the script replies. */
export type Counter<L, R> = Omit<Algorithm<L, R, R, R>, "view" | "recall" | "records"> & {
  readonly records: Omit<Records<R, R>, "of">;
};

/** The algorithm that a `Counter` is: whoever has a reply has all that is stored, and can go on as the store does. */
export function counter<L, R>(one: Counter<L, R>): Algorithm<L, R, R, R> {
  const { read, admits, records } = one;
  return {
    ...one,
    view: (record) => record,
    recall(record, limit, nowMs, _askedCost, cost) {
      const view = read(record, undefined, limit, nowMs);
      return { view, refused: !admits(view, limit, cost, nowMs) };
    },
    records: { of: (record) => record, ...records },
  };
}

/**
 * `LimitStatus` without the members that are not known. Damaged counts may give any wait: a client is told at least 0
 * and at most 2^53 - 1 ms.
 */
export function limitStatus(
  known: Pick<LimitStatus, "remaining" | "resetAfterMs"> & {
    readonly [K in "retryAfterMs" | "growsAfterMs" | "delayMs"]?: number | undefined;
  },
): LimitStatus {
  const { remaining, retryAfterMs, growsAfterMs, resetAfterMs, delayMs } = known;
  const status: { -readonly [K in keyof LimitStatus]: LimitStatus[K] } = {
    remaining,
    resetAfterMs: asWait(resetAfterMs),
  };
  if (retryAfterMs !== undefined) status.retryAfterMs = asWait(retryAfterMs);
  if (growsAfterMs !== undefined) status.growsAfterMs = asWait(growsAfterMs);
  if (delayMs !== undefined && delayMs > 0) status.delayMs = asWait(delayMs);
  return status;
}

function asWait(ms: number): number {
  return Math.min(MAX_EXACT, Math.max(0, ms));
}

/** Whether it is a whole number that is exact in every language. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
