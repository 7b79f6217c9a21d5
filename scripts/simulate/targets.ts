/**
 * What the simulation must show: its runs, and the bounds for their means. In each run the algorithm's own promise must
 * hold (`countedRelative`). The fullest true window under `strict` is no bound: it is what came by chance on that
 * traffic, and the algorithm allows more (docs/consistency.md).
 */

import { Kind } from "../../src/core/algorithm.ts";
import type { Measured, Scenario } from "./run.ts";

export interface Bounds {
  readonly callsAtMost?: number;
  readonly usedAtLeast?: number;
  /** How much less of the limit may be used than in the row with 20 isolates and steady traffic. */
  readonly usedLessBy?: number;
}

/** One row: a traffic and a mode. */
export interface Row extends Omit<Scenario, "limit" | "seed"> {
  readonly limit: number;
  readonly bounds: Bounds;
}

/** Means over the seeds, if nothing else is said. */
export interface Means {
  readonly callsPerRequest: number;
  readonly withoutWait: number;
  /** The fullest true window, relative to strict on the same traffic. */
  readonly mostRelative: number;
  /** The largest count of the limit's own counter in any of the runs, relative to the limit. */
  readonly countedRelative: number;
  readonly used: number;
}

export const WINDOW_MS = 10_000;
export const DELAY_MS = [5, 100] as const;
/** Traffic of ten times the limit takes long to compute, so it gets fewer windows. */
const WINDOWS = 6;
const FEW_WINDOWS = 2;

const STRICT: Bounds = { callsAtMost: 1, usedAtLeast: 0.98 };
const LEASED: readonly (readonly [limit: number, demand: number, bounds: Bounds])[] = [
  [10_000, 0.5, { callsAtMost: 0.15, usedAtLeast: 0.97 }],
  [10_000, 0.95, { callsAtMost: 0.1, usedAtLeast: 0.97 }],
  [10_000, 2, { callsAtMost: 0.06, usedAtLeast: 0.98 }],
  [10_000, 10, { callsAtMost: 0.012, usedAtLeast: 0.98 }],
  [1_000, 2, { callsAtMost: 0.35, usedAtLeast: 0.97 }],
];
/** Where each isolate has little of the traffic. */
const MANY: readonly (readonly [isolates: number, demand: number, bounds: Bounds])[] = [
  [100, 0.5, { callsAtMost: 0.1, usedAtLeast: 0.985 }],
  [100, 0.95, { callsAtMost: 0.15, usedAtLeast: 0.985 }],
  [100, 2, { usedLessBy: 0.03 }],
  [300, 0.95, { callsAtMost: 0.3, usedAtLeast: 0.98 }],
];
/** One isolate whose calls take up to a tenth of the window. */
const ALONE: readonly (readonly [demand: number, bounds: Bounds])[] = [
  [1, { usedAtLeast: 0.87 }],
  [2, { usedAtLeast: 0.87 }],
];
const STRICT_TRAFFIC = [
  [10_000, 0.5],
  [10_000, 0.95],
  [10_000, 2],
  [1_000, 2],
] as const;

/**
 * Steady traffic from 20 isolates, then from more isolates and from one, then bursts that all isolates begin at the
 * same instant.
 */
export const ROWS: readonly Row[] = [
  ...LEASED.map(([limit, demand, bounds]) => row(limit, demand, { bounds })),
  ...STRICT_TRAFFIC.map(([limit, demand]) => row(limit, demand, { mode: "strict", bounds: STRICT })),
  // Ten times the limit from 100 isolates would take too long to compute.
  ...MANY.map(([isolates, demand, bounds]) => row(10_000, demand, { isolates, bounds })),
  row(1_000, 2, { isolates: 100, bounds: { usedLessBy: 0.03 } }),
  // Only three windows, because each has very many requests.
  row(333_000, 1, { isolates: 66, windows: 3, bounds: { callsAtMost: 0.006, usedAtLeast: 0.97 } }),
  ...ALONE.map(([demand, bounds]) => row(200, demand, { windowMs: 2_000, isolates: 1, bounds })),
  ...LEASED.map(([limit, demand]) => row(limit, demand, { arrivals: "bursts", bounds: { usedLessBy: 0.03 } })),
];

function row(limit: number, demand: number, rest: Partial<Row> & Pick<Row, "bounds">): Row {
  return {
    limit,
    windowMs: WINDOW_MS,
    demand,
    mode: "leased",
    isolates: 20,
    delayMs: DELAY_MS,
    windows: demand > 2 ? FEW_WINDOWS : WINDOWS,
    arrivals: "steady",
    ...rest,
  };
}

/** A limit of this size with the default algorithm: the two-bucket counter. */
export function scenarioOf({ bounds: _, limit, ...rest }: Row, seed: number): Scenario {
  return { ...rest, seed, limit: { kind: Kind.weighted, limit, bucketMs: rest.windowMs, buckets: 1 } };
}

/**
 * The run that a row is compared with: strict on the same traffic. Far above the limit every request of `strict` waits
 * to see whether another request gets the next unit. That takes long to compute; `direct` admits the same and is
 * quicker.
 */
export function exactOf(row: Row): Row {
  return { ...row, mode: row.demand > 2 ? "direct" : "strict", bounds: {} };
}

/** The row whose used part of the limit is compared. */
export function baseOf(rows: readonly Row[], { limit, demand, mode }: Row): Row {
  return rows.find((one) => one.limit === limit && one.demand === demand && one.mode === mode)!;
}

/** @param exact the runs of `exactOf`, with the same seeds. */
export function meansOf({ limit }: Row, runs: readonly Measured[], exact: readonly Measured[]): Means {
  const mean = (of: (run: Measured, i: number) => number) =>
    runs.reduce((sum, run, i) => sum + of(run, i), 0) / runs.length;
  return {
    callsPerRequest: mean((run) => run.callsPerRequest),
    withoutWait: mean((run) => run.withoutWait),
    mostRelative: mean((run, i) => run.mostInWindow / exact[i]!.mostInWindow),
    countedRelative: Math.max(...runs.map((run) => run.mostCounted)) / limit,
    used: mean((run) => run.used),
  };
}

/** The bounds that are missed, in words. Empty if all hold. */
export function missed({ bounds }: Row, means: Means, base: Means): string[] {
  const { callsAtMost, usedAtLeast, usedLessBy } = bounds;
  const least = Math.max(usedAtLeast ?? 0, usedLessBy === undefined ? 0 : base.used - usedLessBy);
  const misses: string[] = [];
  if (callsAtMost !== undefined && means.callsPerRequest > callsAtMost) misses.push(`calls <= ${callsAtMost}`);
  if (means.countedRelative > 1) misses.push("counted <= 1");
  if (means.used < least) misses.push(`used >= ${least.toFixed(4)}`);
  return misses;
}
