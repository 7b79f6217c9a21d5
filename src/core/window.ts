/**
 * What a fixed window and a calendar share: one count for each period, which starts at zero. They differ in what a
 * period is.
 */

import { type Counter, limitStatus } from "./algorithm.ts";
import { MAX_COUNT, MAX_UNITS } from "./layout.ts";

/** The periods of an algorithm. Instants are in ms since the epoch. */
interface Periodic<L, R> {
  /** The end of the period of an instant. */
  endAt(limit: L, atMs: number): number;
  /** The record of the period with this end, without a charge. */
  begin(limit: L, endsAtMs: number): R;
  /** The end of the period of a record. */
  endsAtMs(record: R): number;
  /** The length of the longest period, in ms. */
  windowMs(limit: L): number;
}

/** A counter, but for what only its record tells. */
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
