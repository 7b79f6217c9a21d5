/** All algorithms, by kind and by name. */

import type { Algorithm } from "./algorithm.ts";
import { type BanLimit, type BanRecord, ban, banWords } from "./ban.ts";
import { type CalendarInput, type CalendarLimit, type CalendarRecord, calendar, namedCalendar } from "./calendar.ts";
import {
  type ConcurrencyInput,
  type ConcurrencyLimit,
  type ConcurrencyView,
  concurrency,
  namedConcurrency,
  type Slots,
} from "./concurrency.ts";
import { type FixedWindowInput, namedFixedWindow } from "./fixed-window.ts";
import { Kind } from "./layout.ts";
import type { Named, Values } from "./named.ts";
import type { OnceValue } from "./once.ts";
import {
  type Log,
  type LogLimit,
  type LogRecord,
  type LogState,
  type LogView,
  namedSlidingLog,
  type SlidingLogInput,
  slidingLog,
} from "./sliding-log.ts";
import { namedSlidingWindow, type SlidingWindowInput } from "./sliding-window.ts";
import {
  type BucketLimit,
  type BucketRecord,
  type LeakyBucketInput,
  namedLeakyBucket,
  namedTokenBucket,
  type TokenBucketInput,
  tokenBucket,
} from "./token-bucket.ts";
import {
  type FixedWindowLimit,
  type FixedWindowRecord,
  fixedWindow,
  slidingWindow,
  type WindowLimit,
  type WindowRecord,
} from "./window.ts";

/** What the script must know about a limit. */
export type LimitSpec =
  | WindowLimit
  | FixedWindowLimit
  | BucketLimit
  | LogLimit
  | ConcurrencyLimit
  | CalendarLimit
  | BanLimit;
/** What is stored of a limit among the records of its key. */
export type LimitRecord = WindowRecord | FixedWindowRecord | BucketRecord | LogRecord | CalendarRecord | BanRecord;
/** What the script replies about a limit. */
export type LimitView =
  | WindowRecord
  | FixedWindowRecord
  | BucketRecord
  | LogView
  | ConcurrencyView
  | CalendarRecord
  | BanRecord;
export type LimitValue = Log | Slots;
/** What is stored under a key that has no records. */
export type Value = LimitValue | OnceValue;
/** What a value is about: a limit of this kind, or the id of a request. */
export type ValueKind = Kind | "once";

/** What an algorithm makes of what is stored. No other code looks into it. */
type State = LimitRecord | LogState | Slots;

const BY_KIND: Readonly<Record<Kind, Algorithm<LimitSpec, LimitRecord, State, LimitView, LimitValue>>> = {
  [Kind.weighted]: slidingWindow,
  [Kind.whole]: slidingWindow,
  [Kind.fixedWindow]: fixedWindow,
  [Kind.bucket]: tokenBucket,
  [Kind.log]: slidingLog,
  [Kind.concurrency]: concurrency,
  [Kind.calendar]: calendar,
  [Kind.ban]: ban,
};

/**
 * The algorithm of a limit. A limit, record, state or view passed to it must be of this kind. What it returns is of
 * this kind too.
 */
export function algorithmOf({ kind }: { readonly kind: Kind }): (typeof BY_KIND)[Kind] {
  return BY_KIND[kind];
}

/** The algorithms: docs/algorithms.md says which to choose. */
export type AlgorithmName =
  | "sliding-window"
  | "fixed-window"
  | "sliding-log"
  | "token-bucket"
  | "leaky-bucket"
  | "concurrency"
  | "calendar";

/** A limit, by its `algorithm`. docs/algorithms.md helps to choose. */
export type LimitInput =
  | SlidingWindowInput
  | FixedWindowInput
  | SlidingLogInput
  | TokenBucketInput
  | LeakyBucketInput
  | ConcurrencyInput
  | CalendarInput;

export const NAMED: Readonly<Record<AlgorithmName, Named<LimitSpec, Values>>> = {
  "sliding-window": namedSlidingWindow,
  "fixed-window": namedFixedWindow,
  "sliding-log": namedSlidingLog,
  "token-bucket": namedTokenBucket,
  "leaky-bucket": namedLeakyBucket,
  concurrency: namedConcurrency,
  calendar: namedCalendar,
};

/** What people read about a limit of a decision. */
type Words = Pick<Named<LimitSpec, Values>, "describe" | "per"> & Partial<Pick<Named<LimitSpec, Values>, "valuesOf">>;
export const WORDS: Readonly<Record<AlgorithmName | "ban", Words>> = { ...NAMED, ban: banWords as Words };

/** Whether a limit has a limit key beside the key of the records. */
export function hasLimitKey(limit: LimitSpec): boolean {
  return algorithmOf(limit).values !== undefined;
}

/** The approximate memory of one limit's counts, in bytes (Node 24, 2026-11; bench/isolate-counts.ts). */
export function countsBytes(counted: LimitRecord | LimitView): number {
  return 110 + 8 * ("counts" in counted ? counted.counts.length : 0);
}
