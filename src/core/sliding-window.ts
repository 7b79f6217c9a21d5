/**
 * The sliding window counter: `buckets` buckets of `bucketMs`, and the bucket before them. That bucket counts by the
 * part that the window still covers ("weighted"), or in full ("whole").
 *
 * Mirror: lua/sliding_window.lua, for everything that decides or changes a count. What a client is told (remaining,
 * waits) is computed here only, from the record that the script returns.
 */

import { type Algorithm, limitStatus } from "./algorithm.ts";
import { formatDuration } from "./duration.ts";
import { Kind, MAX_BUCKETS, MAX_COUNT, MAX_EXACT } from "./layout.ts";
import { LIMIT, type Named, perWindow, type ValuesOf, WINDOW, type WindowBase } from "./named.ts";
import { describeUnits } from "./units.ts";

/** `weighted` and `whole`: how the bucket before the window counts. */
export type WindowKind = typeof Kind.weighted | typeof Kind.whole;

/** What the counter must know about a limit. `limit * bucketMs < 2^53`. */
export interface WindowLimit {
  /** Units per window, 1 … 10^9. */
  readonly limit: number;
  readonly kind: WindowKind;
  /** Length of a bucket in milliseconds; the window is `buckets * bucketMs`. */
  readonly bucketMs: number;
  /** 1 … 60. */
  readonly buckets: number;
}

/** The counts of one limit, as they are stored. Never changed in place. */
export interface WindowRecord {
  readonly kind: WindowKind;
  /** Length of a bucket in milliseconds. */
  readonly bucketMs: number;
  /** How many buckets make the window. */
  readonly buckets: number;
  /** Number of the newest bucket written: `floor(ms / bucketMs)`, ms since the epoch. */
  readonly newest: number;
  /** `buckets + 1` counts in units, newest first; the last is the bucket before the window. */
  readonly counts: readonly number[];
}

export function newWindow(limit: WindowLimit, nowMs: number): WindowRecord {
  const { kind, bucketMs, buckets } = limit;
  return { kind, bucketMs, buckets, newest: Math.floor(nowMs / bucketMs), counts: new Array(buckets + 1).fill(0) };
}

/**
 * Makes the bucket of `nowMs` the newest. If the clock has stepped back, the newer bucket stays: rolling back would
 * forget charges.
 */
export function rollWindow(record: WindowRecord, nowMs: number): WindowRecord {
  const bucket = Math.floor(nowMs / record.bucketMs);
  const passed = bucket - record.newest;
  if (passed <= 0) return record;
  const counts = record.counts.map((_, age) => (age >= passed ? record.counts[age - passed]! : 0));
  return { ...record, newest: bucket, counts };
}

/**
 * `S*B + O*(B-e) + c*B <= L*B`: S and O are the counts in the window and in the bucket before it, e is the elapsed part
 * of the newest bucket, c the cost and L the limit. In this form it stays exact. If a forced count makes `O*(B-e)`
 * exceed 2^53, the rounded product is still above the right side, which is below 2^53.
 */
function windowAdmits(record: WindowRecord, limit: number, cost: number, nowMs: number): boolean {
  const { kind, bucketMs, buckets, counts } = record;
  const room = roomLeft(record, limit - cost);
  const oldest = counts[buckets]!;
  if (kind === Kind.whole) return oldest <= room;
  const elapsedMs = Math.max(0, nowMs - record.newest * bucketMs);
  return oldest * (bucketMs - elapsedMs) <= room * bucketMs;
}

/** `units` without the counts in the window; the bucket before the window is not one of them. */
function roomLeft({ buckets, counts }: WindowRecord, units: number): number {
  let room = units;
  for (let age = 0; age < buckets; age++) room -= counts[age]!;
  return room;
}

export function chargeWindow(record: WindowRecord, cost: number): WindowRecord {
  return { ...record, counts: record.counts.with(0, Math.min(MAX_COUNT, record.counts[0]! + cost)) };
}

/** Takes back from the bucket of `atMs`, never below zero. A bucket that has left the record is not changed. */
export function giveBackWindow(record: WindowRecord, cost: number, atMs: number): WindowRecord {
  const age = record.newest - Math.floor(atMs / record.bucketMs);
  if (age < 0 || age > record.buckets) return record;
  return { ...record, counts: record.counts.with(age, Math.max(0, record.counts[age]! - cost)) };
}

/** Milliseconds until the record is as new, which is when the newest bucket with a count leaves. */
export function windowResetAfterMs(record: WindowRecord, nowMs: number): number {
  const { bucketMs, buckets, newest, counts } = record;
  for (let age = 0; age <= buckets; age++) {
    if (counts[age]! > 0) return (newest + buckets + 1 - age) * bucketMs - nowMs;
  }
  return 0;
}

/** The largest cost that would be admitted now, 0 if none: `floor((L*B - S*B - O*(B-e)) / B)`. */
export function windowRemaining(record: WindowRecord, limit: number, nowMs: number): number {
  const { kind, bucketMs, buckets, counts } = record;
  const room = roomLeft(record, limit);
  const oldest = counts[buckets]!;
  if (kind === Kind.whole) return Math.max(0, room - oldest);
  const elapsedMs = Math.max(0, nowMs - record.newest * bucketMs);
  return Math.max(0, Math.floor((room * bucketMs - oldest * Math.max(0, bucketMs - elapsedMs)) / bucketMs));
}

/**
 * Milliseconds until `cost` would be admitted if nothing else is charged: 0 now, `undefined` never (`cost > limit`).
 * Goes from bucket to bucket: the counts of each are known, so the decaying bucket leaves enough room from `B -
 * floor((L-c-S)*B / O)` on.
 */
export function windowRetryAfterMs(
  record: WindowRecord,
  limit: number,
  cost: number,
  nowMs: number,
): number | undefined {
  if (cost > limit) return undefined;
  if (windowAdmits(record, limit, cost, nowMs)) return 0;
  const { kind, bucketMs, buckets, counts } = record;
  const sinceNewestMs = nowMs - record.newest * bucketMs;
  let room = roomLeft(record, limit - cost);
  for (let steps = 0; steps <= buckets; steps++) {
    // After `steps` buckets, the decaying bucket is `steps` newer than the oldest bucket of now.
    const oldest = counts[buckets - steps] ?? 0;
    if (room >= 0) {
      const decayedMs = decayNeededMs(kind, oldest, room, bucketMs);
      // At the end of this bucket the next one begins. The loop finds the same instant there, with nothing left to
      // decay.
      if (decayedMs < bucketMs) return steps * bucketMs + decayedMs - sinceNewestMs;
    }
    room += counts[buckets - 1 - steps] ?? 0;
  }
  // All counts have left. Counts near 2^53, which no charge makes, add up to a rounded room that stays below 0.
  return (buckets + 1) * bucketMs - sinceNewestMs;
}

/** How far into a bucket the decaying bucket leaves `room` for itself: 0 to bucketMs (bucketMs: not in this bucket). */
function decayNeededMs(kind: WindowKind, oldest: number, room: number, bucketMs: number): number {
  if (oldest <= room) return 0;
  return kind === Kind.whole ? bucketMs : bucketMs - Math.floor((room * bucketMs) / oldest);
}

export const slidingWindow: Algorithm<WindowLimit, WindowRecord, WindowRecord, WindowRecord> = {
  read: (record, _value, limit, nowMs) => rollWindow(record ?? newWindow(limit, nowMs), nowMs),
  admits: (record, { limit }, cost, nowMs) => windowAdmits(record, limit, cost, nowMs),
  charge: (record, _limit, cost) => chargeWindow(record, cost),
  giveBack: (record, _limit, cost, { atMs }) => giveBackWindow(record, cost, atMs),
  chargedAtMs: ({ newest, bucketMs }) => newest * bucketMs,
  bucketAt: ({ bucketMs }, atMs) => Math.floor(atMs / bucketMs),
  record: (record) => record,
  recordNumbers: ["bucketMs", "buckets", "newest"],
  recordEndsAtMs: ({ newest, buckets, bucketMs }) => (newest + buckets + 1) * bucketMs,
  resetAfterMs: (record, _limit, nowMs) => windowResetAfterMs(record, nowMs),
  view: (record) => record,

  encode: ({ bucketMs, buckets }) => [bucketMs, buckets],
  quota: ({ limit, bucketMs, buckets }) => ({ quota: limit, windowMs: bucketMs * buckets }),
  tooLarge({ limit, bucketMs }) {
    if (limit * bucketMs <= MAX_EXACT) return undefined;
    const largest = Math.floor(MAX_EXACT / bucketMs);
    return `a limit of at most ${largest} with buckets of ${bucketMs} ms, or shorter buckets (limit * window / buckets < 2^53)`;
  },
  remaining: (record, { limit }, nowMs) => windowRemaining(record, limit, nowMs),
  tell(record, { limit }, cost, refused, nowMs) {
    const remaining = windowRemaining(record, limit, nowMs);
    return limitStatus({
      remaining,
      retryAfterMs: refused ? windowRetryAfterMs(record, limit, cost, nowMs) : 0,
      growsAfterMs: windowRetryAfterMs(record, limit, remaining + 1, nowMs),
      resetAfterMs: windowResetAfterMs(record, nowMs),
    });
  },

  viewLength: ({ buckets }) => buckets + 2,
  capacity: ({ limit, bucketMs, buckets }) => ({ units: limit, windowMs: bucketMs * buckets }),
  decode: ([newest = 0, ...counts], { kind, bucketMs, buckets }) => ({ kind, bucketMs, buckets, newest, counts }),
  recall(record, limit, nowMs, _askedCost, cost) {
    const view = rollWindow(record, nowMs);
    return { view, refused: !windowAdmits(view, limit.limit, cost, nowMs) };
  },
  lease: {
    // Within a bucket the instant of a charge does not matter: giving back and charging again leaves the same counts.
    endsAtMs: ({ bucketMs }, chargedAtMs) => (Math.floor(chargedAtMs / bucketMs) + 1) * bucketMs,
    without: (record, _limit, units, chargedAtMs) => giveBackWindow(record, units, chargedAtMs),
    inBucket: ({ counts }) => counts[0]!,
  },
};

/** The default: a window that slides in buckets. */
export interface SlidingWindowInput extends WindowBase {
  /** May be left out. */
  readonly algorithm?: "sliding-window" | undefined;
  /** Number of buckets in the window, 1 … 60. Must divide the window in milliseconds. Default 1. */
  readonly buckets?: number | string | undefined;
  /** How the oldest bucket counts: the part inside the window (`"weighted"`, default), or all of it (`"whole"`). */
  readonly oldest?: "weighted" | "whole" | undefined;
}

const FIELDS = {
  ...LIMIT,
  ...WINDOW,
  buckets: {
    is: "integer",
    least: 1,
    most: MAX_BUCKETS,
    default: 1,
  },
  oldest: { is: "word", words: ["weighted", "whole"], default: "weighted" },
} as const;

export const namedSlidingWindow: Named<WindowLimit, ValuesOf<typeof FIELDS>> = {
  kind: Kind.weighted,
  fields: FIELDS,
  meters: ["tokens"],
  misfit: ({ window, buckets }) =>
    window % buckets === 0
      ? undefined
      : { field: "buckets", expected: `a number that divides the window of ${window} ms` },
  limitOf: ({ limit, window, buckets, oldest }) => ({ kind: Kind[oldest], limit, bucketMs: window / buckets, buckets }),
  valuesOf: ({ kind, limit, bucketMs, buckets }) => ({
    limit,
    window: bucketMs * buckets,
    buckets,
    oldest: kind === Kind.whole ? "whole" : "weighted",
  }),
  describe: ({ limit, bucketMs, buckets, unit }) => perWindow(limit, bucketMs * buckets, unit),
  promise({ kind, limit, bucketMs, buckets, unit }) {
    const [most, window] = [describeUnits(limit, unit), formatDuration(bucketMs * buckets)];
    if (kind === Kind.whole) {
      return `never more than ${most} in any ${window}; a unit returns up to ${formatDuration(bucketMs)} late`;
    }
    const surely = formatDuration(bucketMs * (buckets - 1));
    const span = buckets > 1 ? `never more than ${most} in any ${surely}` : "older requests fade out evenly";
    const worst = describeUnits(2 * limit - 1, unit);
    return `${span}, at worst ${worst} in one ${window}, when a burst comes at the end of a bucket`;
  },
};
