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

/** What a client is told about one limit. Durations are in ms from the decision on. */
export interface LimitStatus {
  /** The largest cost that would be admitted now, after this decision. */
  readonly remaining: number;
  /** The time until the requested cost would be admitted; 0 if it was. Absent: never, the cost is above the limit. */
  readonly retryAfterMs?: number;
  /** The time until `remaining` grows. Absent: it is at its maximum, or nobody can know. */
  readonly growsAfterMs?: number;
  /** The time until the limit is as if nothing had been charged. */
  readonly resetAfterMs: number;
  /** How long the admitted request must be delayed. Absent: it is not delayed. */
  readonly delayMs?: number;
  /** The length of the present period. Absent: it is always that of the limit's `quota`. */
  readonly windowMs?: number;
}

/** How to spend units that were charged ahead of their request. */
interface Leasing<L, V> {
  /**
   * Until when units charged at an instant may be spent. Spending them later would break the algorithm's promise. Both
   * instants are by the store's clock, in ms since the epoch.
   */
  endsAtMs(limit: L, chargedAtMs: number): number;
  /** The view without `units` that were charged at this instant of the store and not spent. */
  without(view: V, limit: L, units: number, chargedAtMs: number): V;
  /**
   * The units that everybody has charged, and not given back, in the bucket of the view's instant. Absent if nobody can
   * know: units come back while they wait to be spent.
   */
  inBucket?(view: V): number;
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
  /**
   * The earliest instant of the bucket that a take has charged, from the view in its reply. It is later than the reply
   * if the clock has stepped back. Absent: giving back needs no instant.
   */
  chargedAtMs?(view: V, limit: L): number;
  /**
   * The number of the bucket of an instant: what is charged in one bucket can be given back together. Absent: giving
   * back needs no instant.
   */
  bucketAt?(limit: L, atMs: number): number;
  /** What is stored among the records of the key. undefined: nothing. */
  record(state: S): R | undefined;
  /**
   * The numbers of a record, apart from its kind. The first one is a time in ms. With `buckets`, a record has a list of
   * `counts` too. Absent: the algorithm has no records.
   */
  readonly recordNumbers?: readonly string[];
  /**
   * Until when a record means something to a configuration whose numbers nobody knows, ms since the epoch. Absent: the
   * algorithm has no records.
   */
  recordEndsAtMs?(record: R): number;
  resetAfterMs(state: S, limit: L, nowMs: number): number;
  view(state: S, limit: L, cost: number, refused: boolean): V;

  /** Only for algorithms with a limit key: what is stored under it. undefined: nothing. */
  keptValue?(state: S, limit: L, nowMs: number): KeptValue<K> | undefined;
  /** The value that a text says, where a storage keeps nothing else. undefined: the text says no such value. */
  parseValue?(json: unknown): K | undefined;
  /**
   * Only for a long list of entries, oldest first, each with its instant `atMs`: the list as integers, in a fifth of
   * the length. A storage may keep it in several parts.
   */
  pack?(entries: K): readonly number[];
  /** The entries of a part. undefined: it is damaged. */
  unpack?(packed: unknown): K | undefined;
  /** Whether reading has dropped something that is stored. If so, the result is written whatever is decided. */
  dropped?(state: S): boolean;

  /**
   * What the script gets about a limit, apart from its number and kind: `a` and `buckets`, which are part of its id,
   * and the arguments after the id. A record has `a` and `buckets` too: they identify its limit.
   */
  encode(limit: L): readonly [a: number, buckets: number, ...more: number[]];
  /**
   * Further arguments of the script, which depend on the instant: the start of the period that `nowMs` is in, its end,
   * and the end of the next period, in ms since the epoch. Absent: the script needs none.
   */
  boundsAt?(limit: L, nowMs: number): readonly number[];
  /**
   * The last instant of the bucket of an instant, by which the script knows the bucket to give back to, or to charge.
   * Absent: the script knows it by any instant.
   */
  lastOfBucket?(limit: L, atMs: number): number;
  /**
   * What a client is told. It is computed here only, not in the script.
   *
   * @param cost the requested cost. @param refused whether the limit refused it.
   * @param charged whether the view includes the cost if it was admitted; false after a look. Default true.
   */
  tell(view: V, limit: L, cost: number, refused: boolean, nowMs: number, charged?: boolean): LimitStatus;
  /** `remaining` of what a client is told. */
  remaining(view: V, limit: L, nowMs: number): number;
  quota(limit: L): Quota;
  /** The most units that a limit may have. Absent: `MAX_UNITS`. */
  readonly mostUnits?: number;
  /**
   * What would fit, in words, if numbers beside `limit` are out of range, or if all are too large for exact decisions.
   * Absent: they never are.
   */
  tooLarge?(limit: L): string | undefined;
  /** A value that is no number and no limit may have, and what it should be. Absent: a limit has only numbers. */
  misfit?(limit: L): { readonly field: string; readonly expected: string } | undefined;
  /** The numbers beside `limit` that count units, each changed. Absent: there are none. */
  changeUnits?(limit: L, change: (units: number) => number): Partial<L>;
  /** Whether two limits of one record have the same numbers beside `limit`. Absent: there are none. */
  hasSameUnits?(one: L, other: L): boolean;

  // For an isolate whose store is far away: it reads replies, remembers them and leases units.

  /** The number of integers in the script's view. */
  viewLength(limit: L): number;
  decode(view: readonly number[], limit: L): V;
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
  /** True: the instant at which a refused cost is admitted does not depend on other requests. Absent: it does. */
  readonly hasFixedWait?: true;
  /** The most units that a limit can count at once, and its window. Absent: the algorithm counts no units. */
  capacity?(limit: L): { readonly units: number; readonly windowMs: number };
  /** Only beside `capacity`. Absent: units of this algorithm cannot be leased. */
  lease?: Leasing<L, V>;
}

/**
 * `LimitStatus` without the members that are not known. Damaged counts may give any wait: a client is told at least 0
 * and at most 2^53 - 1 ms.
 */
export function limitStatus(
  known: Pick<LimitStatus, "remaining" | "resetAfterMs"> & {
    readonly [K in "retryAfterMs" | "growsAfterMs" | "delayMs" | "windowMs"]?: number | undefined;
  },
): LimitStatus {
  const { remaining, retryAfterMs, growsAfterMs, resetAfterMs, delayMs, windowMs } = known;
  const status: { -readonly [K in keyof LimitStatus]: LimitStatus[K] } = {
    remaining,
    resetAfterMs: asWait(resetAfterMs),
  };
  if (retryAfterMs !== undefined) status.retryAfterMs = asWait(retryAfterMs);
  if (growsAfterMs !== undefined) status.growsAfterMs = asWait(growsAfterMs);
  if (delayMs! > 0) status.delayMs = asWait(delayMs!);
  if (windowMs !== undefined) status.windowMs = windowMs;
  return status;
}

function asWait(ms: number): number {
  return Math.min(MAX_EXACT, Math.max(0, ms));
}

/** Whether it is a whole number that is exact in every language. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
