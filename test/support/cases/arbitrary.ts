// fast-check generators of limits, and of requests to them.

import fc from "fast-check";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { WindowKind, WindowLimit } from "../../../src/kernel/core/window.ts";

const DAY_MS = 86_400_000;

/** The largest limit for which limit * bucketMs stays below 2^53. */
export function largestLimit(bucketMs: number): number {
  return Math.min(1_000_000_000, Math.floor((2 ** 53 - 1) / bucketMs));
}

/** Lengths of a bucket in ms. Tiny ones, so that runs visit every instant; and real ones, up to 31 days. */
export const bucketMs: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 3, arbitrary: fc.integer({ min: 21, max: 10_000 }) },
  { weight: 2, arbitrary: fc.constantFrom(60_000, 3_600_000, DAY_MS, 7 * DAY_MS, 31 * DAY_MS) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 31 * DAY_MS }) },
);

export const buckets: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(1) },
  { weight: 4, arbitrary: fc.integer({ min: 2, max: 6 }) },
  { weight: 1, arbitrary: fc.integer({ min: 7, max: 60 }) },
);

/** A number of units per window that is valid for a bucket of this length. */
export function limitNumber(bucketMs: number): fc.Arbitrary<number> {
  const max = largestLimit(bucketMs);
  return fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 20 }) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max }) },
    { weight: 1, arbitrary: fc.constant(max) },
  );
}

export const kind: fc.Arbitrary<WindowKind> = fc.constantFrom(Kind.weighted, Kind.whole);

/** One limit: of either kind, unless `only` names one. */
export function windowLimit(only: { kind?: WindowKind; buckets?: number; bucketMs?: fc.Arbitrary<number> } = {}) {
  return (only.bucketMs ?? bucketMs).chain((bucketMs) =>
    fc.record<WindowLimit>({
      limit: limitNumber(bucketMs),
      kind: only.kind ? fc.constant(only.kind) : kind,
      bucketMs: fc.constant(bucketMs),
      buckets: only.buckets ? fc.constant(only.buckets) : buckets,
    }),
  );
}

/** An instant: of today, with large bucket numbers, or near the epoch, with small ones. */
export const instant: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 }),
  fc.integer({ min: 1, max: 1_000_000 }),
);

/** A request to one limit, described in words. replay.ts turns the words into numbers. */
export interface Event {
  /** Time before the request: the wait that was told plus n ms, n/1000 of the limit's span, or n spans. */
  readonly advance: { readonly by: "wait" | "part" | "spans"; readonly n: number };
  /** The cost: a number of units, or a number near what remains, or near the limit. */
  readonly cost: { readonly of: "units" | "remaining" | "limit"; readonly n: number };
}

export const event: fc.Arbitrary<Event> = fc.record({
  advance: fc.oneof(
    { weight: 3, arbitrary: fc.record({ by: fc.constant("wait" as const), n: fc.integer({ min: -1, max: 1 }) }) },
    { weight: 5, arbitrary: fc.record({ by: fc.constant("part" as const), n: fc.integer({ min: 0, max: 1000 }) }) },
    { weight: 2, arbitrary: fc.record({ by: fc.constant("spans" as const), n: fc.integer({ min: 0, max: 70 }) }) },
  ),
  cost: fc.oneof(
    { weight: 3, arbitrary: fc.record({ of: fc.constant("units" as const), n: fc.integer({ min: 0, max: 5 }) }) },
    { weight: 3, arbitrary: fc.record({ of: fc.constant("remaining" as const), n: fc.integer({ min: -1, max: 1 }) }) },
    { weight: 1, arbitrary: fc.record({ of: fc.constant("limit" as const), n: fc.integer({ min: -1, max: 1 }) }) },
  ),
});

export const history: fc.Arbitrary<readonly Event[]> = fc.array(event, { minLength: 1, maxLength: 60, size: "max" });
