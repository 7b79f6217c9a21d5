/**
 * What each algorithm promises (docs/algorithms.md), checked by what was admitted. Nothing in here knows the formula by
 * which the store decides.
 */

import { CALENDAR, type ModeAlgorithm, WINDOW_MS } from "./modes.ts";

/** A request that is decided before the end of a bucket is told later, by a slow round trip at most. */
const TOLD_LATE_MS = 100;

/** Units of one bucket: what was admitted, what may be admitted once more after a reset, and the limit. */
interface Admitted {
  readonly admitted: number;
  readonly loose: number;
  readonly most: number;
}

interface Admission {
  readonly atMs: number;
  readonly units: number;
}

/** In no span of this length is more admitted. */
interface Span {
  readonly ms: number;
  most(limit: number): number;
}

export interface Promised {
  readonly bucketMs: number;
  /** An instant at which a bucket begins. */
  readonly beginsAtMs: number;
  /** How many buckets the store counts. */
  readonly kept: number;
  readonly spans: readonly Span[];
  /** For how long an admission matters. */
  readonly rememberedMs: number;
  /** @returns what is wrong. */
  broken(buckets: readonly Admitted[], admissions: readonly Admission[]): string | undefined;
}

export function promisedBy(algorithm: ModeAlgorithm): Promised {
  if (typeof algorithm === "string") {
    const { periodMs, zoneMs } = CALENDAR;
    const window = algorithm === "calendar" ? [periodMs, -zoneMs] : [WINDOW_MS, 0];
    const [bucketMs, beginsAtMs] = window as [number, number];
    return { bucketMs, beginsAtMs, kept: 1, spans: [], rememberedMs: 0, broken: brokenWindow };
  }
  const { buckets, oldest } = algorithm;
  const bucketMs = WINDOW_MS / buckets;
  const spans: Span[] = [{ ms: WINDOW_MS, most: (limit) => (oldest === "whole" ? limit : 2 * limit - 1) }];
  if (oldest === "weighted" && buckets > 1) spans.push({ ms: WINDOW_MS - bucketMs, most: (limit) => limit });
  return {
    bucketMs,
    beginsAtMs: 0,
    kept: buckets + 1,
    spans,
    rememberedMs: WINDOW_MS + TOLD_LATE_MS,
    broken: (all, admissions) => brokenSpan(spans, all, admissions),
  };
}

/** No aligned window has more than the limit. */
function brokenWindow([present]: readonly Admitted[]): string | undefined {
  const { admitted, loose, most } = present!;
  if (admitted <= most + loose) return undefined;
  return `${admitted} units were admitted in one window, and ${most + loose} are the most`;
}

/** The fullest spans begin with an admission. */
function brokenSpan(
  spans: readonly Span[],
  buckets: readonly Admitted[],
  admissions: readonly Admission[],
): string | undefined {
  const limit = Math.max(...buckets.map(({ most }) => most));
  const loose = buckets.reduce((sum, one) => sum + one.loose, 0);
  for (const { ms, most } of spans) {
    for (const { atMs } of admissions) {
      let units = 0;
      for (const one of admissions) if (one.atMs >= atMs && one.atMs < atMs + ms) units += one.units;
      if (units > most(limit) + loose) {
        return `${units} units were admitted within ${ms} ms, and ${most(limit) + loose} are the most`;
      }
    }
  }
  return undefined;
}
