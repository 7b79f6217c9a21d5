/** All algorithms, by kind. */

import type { Algorithm } from "./algorithm.ts";
import { type ConcurrencyLimit, type ConcurrencyView, concurrency, type Slots } from "./concurrency.ts";
import { type FixedWindowLimit, type FixedWindowRecord, fixedWindow } from "./fixed-window.ts";
import { Kind } from "./layout.ts";
import { type Log, type LogLimit, type LogRecord, type LogState, type LogView, slidingLog } from "./sliding-log.ts";
import { slidingWindow, type WindowLimit, type WindowRecord } from "./sliding-window.ts";
import { type BucketLimit, type BucketRecord, tokenBucket } from "./token-bucket.ts";

/** What the script must know about a limit. */
export type LimitSpec = WindowLimit | FixedWindowLimit | BucketLimit | LogLimit | ConcurrencyLimit;
/** What is stored of a limit among the records of its key. */
export type LimitRecord = WindowRecord | FixedWindowRecord | BucketRecord | LogRecord;
/** What the script replies about a limit. */
export type LimitView = WindowRecord | FixedWindowRecord | BucketRecord | LogView | ConcurrencyView;
/** What is stored under a limit key. */
export type LimitValue = Log | Slots;

/** What an algorithm makes of what is stored. No other code looks into it. */
type State = LimitRecord | LogState | Slots;

const ALGORITHMS: Readonly<Record<Kind, Algorithm<LimitSpec, LimitRecord, State, LimitView, LimitValue>>> = {
  [Kind.weighted]: slidingWindow,
  [Kind.whole]: slidingWindow,
  [Kind.fixedWindow]: fixedWindow,
  [Kind.bucket]: tokenBucket,
  [Kind.log]: slidingLog,
  [Kind.concurrency]: concurrency,
};

/**
 * The algorithm of a limit. A limit, record, state or view passed to it must be of this kind. What it returns is of
 * this kind too.
 */
export function algorithmOf({ kind }: { readonly kind: Kind }): (typeof ALGORITHMS)[Kind] {
  return ALGORITHMS[kind];
}

/** Whether a limit has a limit key beside the key of the records. */
export function hasLimitKey(limit: LimitSpec): boolean {
  return algorithmOf(limit).keptValue !== undefined;
}

/** The approximate memory of one limit's counts, in bytes (Node 24, 2026-11; bench/isolate-counts.ts). */
export function countsBytes(counted: LimitRecord | LimitView): number {
  return 110 + 8 * ("counts" in counted ? counted.counts.length : 0);
}
