/**
 * The window counters. A sliding window has `buckets` buckets of `bucketMs`, and the bucket before them. That bucket
 * counts by the part that the window still covers ("weighted"), or in full ("whole"). A fixed window has one count. In
 * the script it is a whole window of 0 buckets.
 *
 * Mirror: lua/window.lua, for everything that decides or changes a count. What a client is told (remaining, waits) is
 * computed here only, from the record that the script returns.
 */

import { type Counter, counter, limitStatus } from "./algorithm.ts";
import { Kind, MAX_COUNT, MAX_EXACT, MAX_UNITS } from "./layout.ts";

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
export interface WindowRecord extends Pick<WindowLimit, "kind" | "bucketMs" | "buckets"> {
  /** Number of the newest bucket written: `floor(ms / bucketMs)`, ms since the epoch. */
  readonly newest: number;
  /** `buckets + 1` counts in units, newest first; the last is the bucket before the window. */
  readonly counts: readonly number[];
}

export const slidingWindow = counter<WindowLimit, WindowRecord>({
  /**
   * Makes the bucket of `nowMs` the newest. If the clock has stepped back, the newer bucket stays: rolling back would
   * forget charges.
   */
  read(record, _value, limit, nowMs) {
    const { kind, bucketMs, buckets } = record ?? limit;
    const newest = Math.floor(nowMs / bucketMs);
    if (!record) return { kind, bucketMs, buckets, newest, counts: new Array(buckets + 1).fill(0) };
    const passed = newest - record.newest;
    if (passed <= 0) return record;
    const counts = record.counts.map((_, age) => (age >= passed ? record.counts[age - passed]! : 0));
    return { ...record, newest, counts };
  },
  admits: windowAdmits,
  charge(record, _limit, cost) {
    return { ...record, counts: record.counts.with(0, Math.min(MAX_COUNT, record.counts[0]! + cost)) };
  },
  /** Takes back from the bucket of `atMs`, never below zero. A bucket that has left the record is not changed. */
  giveBack(record, _limit, cost, { atMs }) {
    const age = record.newest - Math.floor(atMs / record.bucketMs);
    if (age < 0 || age > record.buckets) return record;
    return { ...record, counts: record.counts.with(age, Math.max(0, record.counts[age]! - cost)) };
  },
  resetAfterMs: windowResetAfterMs,
  chargedAtMs: ({ newest, bucketMs }) => newest * bucketMs,
  bucketAt: endOfBucket,

  encode: ({ bucketMs, buckets }) => [bucketMs, buckets],
  viewLength: ({ buckets }) => buckets + 2,
  decode: ([newest = 0, ...counts], { kind, bucketMs, buckets }) => ({ kind, bucketMs, buckets, newest, counts }),

  tell(record, limit, cost, refused, nowMs) {
    const remaining = windowRemaining(record, limit, nowMs);
    return limitStatus({
      remaining,
      retryAfterMs: refused ? windowRetryAfterMs(record, limit, cost, nowMs) : 0,
      growsAfterMs: windowRetryAfterMs(record, limit, remaining + 1, nowMs),
      resetAfterMs: windowResetAfterMs(record, limit, nowMs),
    });
  },
  remaining: windowRemaining,
  hasFixedWait: false,

  quota: ({ limit, bucketMs, buckets }) => ({ quota: limit, windowMs: bucketMs * buckets }),
  capacity: ({ limit, bucketMs, buckets }) => ({ units: limit, windowMs: bucketMs * buckets }),
  units: { limit: MAX_UNITS },
  tooLarge({ limit, bucketMs }) {
    if (limit * bucketMs <= MAX_EXACT) return undefined;
    const largest = Math.floor(MAX_EXACT / bucketMs);
    return `a limit of at most ${largest} with buckets of ${bucketMs} ms, or shorter buckets (limit * window / buckets < 2^53)`;
  },

  records: {
    numbers: ["bucketMs", "buckets", "newest"],
    endsAtMs: ({ newest, buckets, bucketMs }) => (newest + buckets + 1) * bucketMs,
  },
  // Within a bucket the instant of a charge does not matter: giving back and charging again leaves the same counts.
  lease: { endsAtMs: endOfBucket, inBucket: ({ counts }) => counts[0]! },
});

/**
 * `S*B + O*(B-e) + c*B <= L*B`: S and O are the counts in the window and in the bucket before it, e is the elapsed part
 * of the newest bucket, c the cost and L the limit. In this form it stays exact. If a forced count makes `O*(B-e)`
 * exceed 2^53, the rounded product is still above the right side, which is below 2^53.
 */
function windowAdmits(record: WindowRecord, { limit }: WindowLimit, cost: number, nowMs: number): boolean {
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

function endOfBucket({ bucketMs }: WindowLimit, atMs: number): number {
  return (Math.floor(atMs / bucketMs) + 1) * bucketMs;
}

/** Milliseconds until the record is as new, which is when the newest bucket with a count leaves. */
function windowResetAfterMs(record: WindowRecord, _limit: WindowLimit, nowMs: number): number {
  const { bucketMs, buckets, newest, counts } = record;
  for (let age = 0; age <= buckets; age++) {
    if (counts[age]! > 0) return (newest + buckets + 1 - age) * bucketMs - nowMs;
  }
  return 0;
}

/** The largest cost that would be admitted now, 0 if none: `floor((L*B - S*B - O*(B-e)) / B)`. */
function windowRemaining(record: WindowRecord, { limit }: WindowLimit, nowMs: number): number {
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
function windowRetryAfterMs(record: WindowRecord, limit: WindowLimit, cost: number, nowMs: number): number | undefined {
  if (cost > limit.limit) return undefined;
  if (windowAdmits(record, limit, cost, nowMs)) return 0;
  const { kind, bucketMs, buckets, counts } = record;
  const sinceNewestMs = nowMs - record.newest * bucketMs;
  let room = roomLeft(record, limit.limit - cost);
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

export interface FixedWindowLimit {
  readonly kind: typeof Kind.fixedWindow;
  /** Units per window, 1 … 10^9. */
  readonly limit: number;
  readonly windowMs: number;
}

export interface FixedWindowRecord {
  readonly kind: typeof Kind.fixedWindow;
  readonly windowMs: number;
  /** Number of the newest window written: `floor(ms / windowMs)`, ms since the epoch. */
  readonly newest: number;
  /** Units. */
  readonly count: number;
}

export const fixedWindow = counter<FixedWindowLimit, FixedWindowRecord>({
  ...periodic({
    endAt: ({ windowMs }, atMs) => (Math.floor(atMs / windowMs) + 1) * windowMs,
    begin: ({ kind, windowMs }, endsAtMs) => ({ kind, windowMs, newest: endsAtMs / windowMs - 1, count: 0 }),
    endsAtMs: endOfWindow,
    windowMs: ({ windowMs }) => windowMs,
  }),
  chargedAtMs: ({ newest, windowMs }) => newest * windowMs,
  encode: ({ windowMs }) => [windowMs, 0],
  decode: ([newest = 0, count = 0], { kind, windowMs }) => ({ kind, windowMs, newest, count }),
  records: { numbers: ["windowMs", "newest", "count"], endsAtMs: endOfWindow },
});

function endOfWindow({ newest, windowMs }: FixedWindowRecord): number {
  return (newest + 1) * windowMs;
}

/** Periods that follow each other. Instants are in ms since the epoch. */
interface Periodic<L, R> {
  endAt(limit: L, atMs: number): number;
  /** The record of the period with this end, without a charge. */
  begin(limit: L, endsAtMs: number): R;
  endsAtMs(record: R): number;
  /** The length of the longest period, in ms. */
  windowMs(limit: L): number;
}

/**
 * What a fixed window and a calendar share: one count for each period, which starts at zero. Only the form of the
 * record is left to them.
 */
export function periodic<L extends { readonly limit: number }, R extends { readonly count: number }>({
  endAt,
  begin,
  endsAtMs,
  windowMs,
}: Periodic<L, R>): Omit<Counter<L, R>, "chargedAtMs" | "encode" | "decode" | "records"> {
  const remaining = ({ count }: R, { limit }: L) => Math.max(0, limit - count);
  return {
    /** If the clock has stepped back, the newer period stays. */
    read(record, _value, limit, nowMs) {
      return record && endsAtMs(record) > nowMs ? record : begin(limit, endAt(limit, nowMs));
    },
    admits: ({ count }, { limit }, cost) => count + cost <= limit,
    charge: (record, _limit, cost) => ({ ...record, count: Math.min(MAX_COUNT, record.count + cost) }),
    giveBack(record, limit, cost, { atMs }) {
      if (endsAtMs(record) !== endAt(limit, atMs)) return record;
      return { ...record, count: Math.max(0, record.count - cost) };
    },
    resetAfterMs: (record, _limit, nowMs) => (record.count === 0 ? 0 : endsAtMs(record) - nowMs),
    bucketAt: endAt,
    viewLength: () => 2,

    tell(record, limit, cost, refused, nowMs) {
      const endsAfterMs = endsAtMs(record) - nowMs;
      return limitStatus({
        remaining: remaining(record, limit),
        retryAfterMs: !refused ? 0 : cost > limit.limit ? undefined : endsAfterMs,
        growsAfterMs: record.count > 0 ? endsAfterMs : undefined,
        resetAfterMs: record.count > 0 ? endsAfterMs : 0,
      });
    },
    remaining,
    hasFixedWait: true,

    quota: (limit) => ({ quota: limit.limit, windowMs: windowMs(limit) }),
    capacity: (limit) => ({ units: limit.limit, windowMs: windowMs(limit) }),
    units: { limit: MAX_UNITS },
    tooLarge: () => undefined,

    lease: { endsAtMs: endAt, inBucket: ({ count }) => count },
  };
}
