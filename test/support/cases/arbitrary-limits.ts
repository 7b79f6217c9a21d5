// fast-check generators of limits, for every algorithm.

import fc from "fast-check";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import type { BanLimit } from "../../../src/kernel/core/ban.ts";
import type { CalendarLimit } from "../../../src/kernel/core/calendar.ts";
import type { ConcurrencyLimit } from "../../../src/kernel/core/concurrency.ts";
import { LONGEST_MS } from "../../../src/kernel/core/periods.ts";
import type { AlgorithmName } from "../../../src/kernel/core/policy.ts";
import type { LogLimit } from "../../../src/kernel/core/sliding-log.ts";
import type { BucketLimit } from "../../../src/kernel/core/token-bucket.ts";
import type { FixedWindowLimit } from "../../../src/kernel/core/window.ts";
import { bucketMs, largestLimit, limitNumber, windowLimit } from "./arbitrary.ts";

const MAX_DELAY_MS = 31 * 86_400_000;
const MAX_LOG = 10_000;
const MAX_UNITS = 1_000_000_000;
const spanMs = bucketMs;

export const fixedWindowLimit: fc.Arbitrary<FixedWindowLimit> = spanMs.chain((windowMs) =>
  fc.record({ kind: fc.constant(Kind.fixedWindow), limit: limitNumber(windowMs), windowMs: fc.constant(windowMs) }),
);

export const logLimit: fc.Arbitrary<LogLimit> = fc.record({
  kind: fc.constant(Kind.log),
  limit: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 20 }) }, fc.integer({ min: 1, max: MAX_LOG })),
  windowMs: spanMs,
});

export const concurrencyLimit: fc.Arbitrary<ConcurrencyLimit> = fc.record({
  kind: fc.constant(Kind.concurrency),
  limit: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 5 }) }, fc.integer({ min: 1, max: 1_000_000_000 })),
  timeoutMs: spanMs,
});

export const tokenBucketLimit: fc.Arbitrary<BucketLimit> = spanMs.chain((windowMs) =>
  fc.record({
    kind: fc.constant(Kind.bucket),
    limit: limitNumber(windowMs),
    windowMs: fc.constant(windowMs),
    burst: limitNumber(windowMs),
    maxDelayMs: fc.constant(0),
  }),
);

export const leakyBucketLimit: fc.Arbitrary<BucketLimit> = tokenBucketLimit.chain((bucket) => {
  const { limit, windowMs } = bucket;
  const most = longestDelayMs(bucket);
  const delayMs = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 20 * Math.ceil(windowMs / limit) }) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 3 * windowMs }) },
    { weight: 1, arbitrary: fc.constant(most) },
  );
  return delayMs.map((delayMs) => ({ ...bucket, maxDelayMs: Math.min(most, delayMs) }));
});

/** Zones whose clocks are set at midnight, by half an hour, or across a whole day. */
export const zone: fc.Arbitrary<string> = fc.constantFrom(
  ...["UTC", "America/New_York", "America/Sao_Paulo", "America/St_Johns", "Asia/Beirut", "Asia/Kathmandu"],
  ...["Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein"],
);

export const calendarOf = fc.oneof(
  fc.record({ window: fc.constant("day" as const), firstDay: fc.constant(1) }),
  fc.record({ window: fc.constant("week" as const), firstDay: fc.constantFrom(1, 7) }),
  fc.record({ window: fc.constantFrom("month" as const, "year" as const), firstDay: fc.integer({ min: 1, max: 28 }) }),
);

export const calendarLimit: fc.Arbitrary<CalendarLimit> = fc
  .tuple(calendarOf, zone, limitNumber(1))
  .map(([calendar, zone, limit]) => ({ kind: Kind.calendar, limit, ...calendar, zone }));

/** Few policies have one, and its units are refusals. */
export const banLimit: fc.Arbitrary<BanLimit> = spanMs.chain((withinMs) =>
  fc.record({
    kind: fc.constant(Kind.ban),
    limit: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 20 }) }, fc.integer({ min: 1, max: MAX_UNITS })),
    withinMs: fc.constant(withinMs),
    forMs: fc.oneof(
      { weight: 3, arbitrary: fc.array(spanMs, { minLength: 1, maxLength: 3 }) },
      { weight: 2, arbitrary: fc.constantFrom([withinMs], [withinMs, MAX_DELAY_MS]) },
    ),
  }),
);

export const limitOf: Readonly<Record<AlgorithmName, fc.Arbitrary<LimitSpec>>> = {
  "sliding-window": windowLimit(),
  "fixed-window": fixedWindowLimit,
  "sliding-log": logLimit,
  "token-bucket": tokenBucketLimit,
  "leaky-bucket": leakyBucketLimit,
  concurrency: concurrencyLimit,
  calendar: calendarLimit,
};
export const algorithmNames = Object.keys(limitOf) as AlgorithmName[];
/** Every algorithm except concurrency. These algorithms count units and can tell when units are free again. */
export const unitAlgorithms = algorithmNames.filter((name) => name !== "concurrency");

export const anyLimit: fc.Arbitrary<LimitSpec> = fc.oneof(...Object.values(limitOf));

/** The longest delay that keeps `burst * windowMs + maxDelayMs * limit` below 2^53. */
function longestDelayMs({ limit, windowMs, burst }: BucketLimit): number {
  return Math.min(MAX_DELAY_MS, Math.floor((2 ** 53 - 1 - burst * windowMs) / limit));
}

/** The period in ms that the limit works with: a bucket's length, the window, the longest period, or the timeout. */
export function spanOf(limit: LimitSpec): number {
  if (limit.kind === Kind.calendar) return LONGEST_MS[limit.window];
  if (limit.kind === Kind.ban) return limit.withinMs;
  return algorithmOf(limit).encode(limit)[0];
}

/** A request with a larger cost can never pass. */
export function largestCostOf(limit: LimitSpec): number {
  return limit.kind === Kind.bucket ? limit.burst : limit.limit;
}

/** The same limit with another number, or with the nearest number that is valid. Its record stays the same. */
export function withNumber(one: LimitSpec, number: number): LimitSpec {
  if (one.kind === Kind.concurrency) return { ...one, limit: Math.min(1_000_000_000, number) };
  if (one.kind === Kind.log) return { ...one, limit: Math.min(MAX_LOG, number) };
  if (one.kind === Kind.ban) {
    // A record with all its entries may meet a longer time.
    const withinMs = Math.min(MAX_DELAY_MS, Math.ceil((one.withinMs * number) / one.limit));
    return { ...one, limit: Math.min(1_000_000_000, number), withinMs };
  }
  if (one.kind === Kind.calendar) return { ...one, limit: Math.min(1_000_000_000, number) };
  const limit = Math.min(largestLimit(spanOf(one)), number);
  if (one.kind !== Kind.bucket) return { ...one, limit };
  const changed = { ...one, limit, burst: Math.min(largestLimit(one.windowMs), one.burst + limit - one.limit) };
  const bucket = { ...changed, burst: Math.max(1, changed.burst) };
  return { ...bucket, maxDelayMs: Math.min(bucket.maxDelayMs, longestDelayMs(bucket)) };
}

/** Two limits with the same identity share a record, or a limit key. */
export function identityOf(limit: LimitSpec): string {
  const [span, buckets] = algorithmOf(limit).encode(limit);
  return `${limit.kind} ${span} ${buckets}`;
}
