/** What every algorithm does, in the terms of a take. The implementations are the files beside this one, one each. */

import { MAX_EXACT } from "./layout.ts";

export { Kind } from "./layout.ts";

/** Of a decision, what an algorithm may need beside the cost. */
export interface Instant {
  /** By the store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** When giving back: an instant of the bucket to give back to, ms since the epoch. */
  readonly atMs: number;
  /** The number of this request. */
  readonly slot: number;
}

/** What is kept under a limit key, beside the records. */
export interface KeptValue<K> {
  readonly value: K;
  /** It means nothing any more after this many milliseconds. */
  readonly expiryMs: number;
}

/** A limit in the terms of clients: units, and the time in which they come back. */
export interface Quota {
  /** The most that is ever admitted at once, in units. */
  readonly quota: number;
  /**
   * In how many milliseconds all of it comes back, may be a fraction. Absent: costs do not count, and it depends on
   * others.
   */
  readonly windowMs?: number;
}

/** What a client is told of one limit. Durations in milliseconds from the decision on. */
export interface Told {
  /** The largest cost that would be admitted now, after this decision. */
  readonly remaining: number;
  /** Until the cost asked would be admitted, 0 if it was; absent: never, it is above the limit. */
  readonly retryAfterMs?: number;
  /** Until `remaining` is larger; absent: it is as large as it gets, or nobody can know. */
  readonly growsAfterMs?: number;
  /** Until the limit is as if nothing had been charged. */
  readonly resetAfterMs: number;
  /** How long the admitted request has to be held; absent: not at all. */
  readonly delayMs?: number;
}

/**
 * One algorithm over its own state: the stored counts of a limit, brought to one instant. Pure: a state is never
 * changed in place. The script takes the same steps in the same order.
 *
 * @typeParam L the limit. @typeParam R the record that is stored of it. @typeParam S the state. @typeParam V what the
 * script replies of it. @typeParam K the value of its limit key.
 */
export interface Algorithm<L, R, S, V, K = never> {
  /** From what is stored to the state at `nowMs`. */
  read(record: R | undefined, value: K | undefined, limit: L, nowMs: number): S;
  admits(state: S, limit: L, cost: number, nowMs: number): boolean;
  charge(state: S, limit: L, cost: number, instant: Instant): S;
  giveBack(state: S, limit: L, cost: number, instant: Instant): S;
  /** What is stored with the records of the key; undefined: nothing. */
  record(state: S): R | undefined;
  resetAfterMs(state: S, limit: L, nowMs: number): number;
  view(state: S, limit: L, cost: number, refused: boolean): V;

  /** Limits of this algorithm have a limit key. What is under the key; undefined: nothing is. */
  keptValue?(state: S, limit: L, nowMs: number): KeptValue<K> | undefined;
  /** Reading alone has changed what is stored: it is written whatever is decided. */
  dropped?(state: S): boolean;

  /**
   * What the script is told of a limit beside its number and kind: what is in its id, and the arguments behind the id.
   * The first two are known of a record too: they tell whose it is.
   */
  encode(limit: L): readonly [a: number, buckets: number, ...more: number[]];
  /**
   * What a client is told: computed here only, not in the script. `cost` is the one asked, `refused` what became of it.
   *
   * @param charged the view has the cost in it if it was admitted; false after a look. Default true.
   */
  tell(view: V, limit: L, cost: number, refused: boolean, nowMs: number, charged?: boolean): Told;
  quota(limit: L): Quota;
  /** What would fit, if the numbers of the limit are too large for exact decisions. Absent: they never are. */
  tooLarge?(limit: L): string | undefined;
}

/**
 * `Told` without the members that are not known. Damaged counts may tell of any wait: what is told is at least 0 and at
 * most 2^53 - 1 ms.
 */
export function told({
  remaining,
  retryAfterMs,
  growsAfterMs,
  resetAfterMs,
  delayMs,
}: Pick<Told, "remaining" | "resetAfterMs"> & {
  readonly [K in "retryAfterMs" | "growsAfterMs" | "delayMs"]?: number | undefined;
}): Told {
  return {
    remaining,
    resetAfterMs: asWait(resetAfterMs),
    ...(retryAfterMs !== undefined && { retryAfterMs: asWait(retryAfterMs) }),
    ...(growsAfterMs !== undefined && { growsAfterMs: asWait(growsAfterMs) }),
    ...((delayMs ?? 0) > 0 && { delayMs: asWait(delayMs!) }),
  };
}

function asWait(ms: number): number {
  return Math.min(MAX_EXACT, Math.max(0, ms));
}
