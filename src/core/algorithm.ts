/** What every algorithm does in a take. Each of the files beside this one implements one algorithm. */

import { MAX_EXACT } from "./layout.ts";

export { Kind } from "./layout.ts";

/** What an algorithm may need of a decision, apart from the cost. */
export interface Instant {
  /** By the store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** Only for giving back: an instant of the limit's bucket to give back to, ms since the epoch. */
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
export interface Told {
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
  /**
   * The same question of a view, for another number than the one that has led to it. Absent: the number is part of the
   * counts, as the rate at which a bucket refills is.
   */
  viewAdmits?(view: V, limit: L, cost: number, nowMs: number): boolean;
  charge(state: S, limit: L, cost: number, instant: Instant): S;
  giveBack(state: S, limit: L, cost: number, instant: Instant): S;
  /**
   * The earliest instant of the bucket that a take has charged, from the view in its reply. It is later than the reply
   * if the clock has stepped back. Absent: giving back needs no instant.
   */
  chargedAtMs?(view: V, limit: L): number;
  /** What is stored among the records of the key. undefined: nothing. */
  record(state: S): R | undefined;
  resetAfterMs(state: S, limit: L, nowMs: number): number;
  view(state: S, limit: L, cost: number, refused: boolean): V;

  /** Only for algorithms with a limit key: what is stored under it. undefined: nothing. */
  keptValue?(state: S, limit: L, nowMs: number): KeptValue<K> | undefined;
  /** Whether reading has dropped something that is stored. If so, the result is written whatever is decided. */
  dropped?(state: S): boolean;

  /**
   * What the script gets about a limit, apart from its number and kind: `a` and `buckets`, which are part of its id,
   * and the arguments after the id. A record has `a` and `buckets` too: they identify its limit.
   */
  encode(limit: L): readonly [a: number, buckets: number, ...more: number[]];
  /**
   * What a client is told. It is computed here only, not in the script.
   *
   * @param cost the requested cost. @param refused whether the limit refused it.
   * @param charged whether the view includes the cost if it was admitted; false after a look. Default true.
   */
  tell(view: V, limit: L, cost: number, refused: boolean, nowMs: number, charged?: boolean): Told;
  /** `remaining` of what a client is told. */
  remaining(view: V, limit: L, nowMs: number): number;
  quota(limit: L): Quota;
  /** What would fit, in words, if the limit's numbers are too large for exact decisions. Absent: they never are. */
  tooLarge?(limit: L): string | undefined;
}

/**
 * `Told` without the members that are not known. Damaged counts may give any wait: what is told is at least 0 and at
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
    ...(delayMs! > 0 && { delayMs: asWait(delayMs!) }),
  };
}

function asWait(ms: number): number {
  return Math.min(MAX_EXACT, Math.max(0, ms));
}
