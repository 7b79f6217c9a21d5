/**
 * What the simulation must show: its runs, and the bounds for their means. In each run the algorithm's own promise must
 * hold (`countedRelative`). The fullest true window has no bound here: the algorithm allows twice the limit
 * (docs/consistency.md).
 */

import { Kind } from "../../src/kernel/core/algorithm.ts";
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
  /** How many runs. Each has another seed. */
  readonly seeds: number;
  readonly bounds: Bounds;
}

/** Means over the seeds, if nothing else is said. */
export interface Means {
  readonly callsPerRequest: number;
  readonly withoutWait: number;
  /** The fullest true window, relative to the limit. */
  readonly mostRelative: number;
  /** The largest count of the limit's own counter in any of the runs, relative to the limit. */
  readonly countedRelative: number;
  readonly used: number;
}

export const WINDOW_MS = 10_000;
export const DELAY_MS = [5, 100] as const;
const WINDOWS = 6;
const SEEDS = 10;
/** For traffic that takes long to compute: ten times the limit, or a very high limit. */
const [FEW_WINDOWS, FEW_SEEDS] = [2, 3];

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
  row(333_000, 1, { isolates: 66, windows: 3, seeds: FEW_SEEDS, bounds: { callsAtMost: 0.006, usedAtLeast: 0.97 } }),
  ...ALONE.map(([demand, bounds]) => row(200, demand, { windowMs: 2_000, isolates: 1, bounds })),
  ...LEASED.map(([limit, demand]) => row(limit, demand, { arrivals: "bursts", bounds: { usedLessBy: 0.03 } })),
];

/** The rows that take little time, with two seeds. */
export const QUICK: readonly Row[] = ROWS.filter(({ demand, isolates, arrivals, mode }) => {
  if (demand > 2 || isolates !== 20) return false;
  return demand === 2 || (arrivals === "steady" && mode === "leased");
}).map((row) => ({ ...row, seeds: 2 }));

/** The rows that bench/results/consistency.md shows as charts of one run. */
export const CHARTED: readonly Row[] = QUICK.filter(({ limit, demand, mode, arrivals }) => {
  return mode === "leased" && demand > 0.5 && (limit === 10_000 || arrivals === "steady");
}).map((row) => ({ ...row, seeds: 1 }));

function row(limit: number, demand: number, rest: Partial<Row> & Pick<Row, "bounds">): Row {
  return {
    limit,
    windowMs: WINDOW_MS,
    demand,
    mode: "leased",
    isolates: 20,
    delayMs: DELAY_MS,
    windows: demand > 2 ? FEW_WINDOWS : WINDOWS,
    seeds: demand > 2 ? FEW_SEEDS : SEEDS,
    arrivals: "steady",
    ...rest,
  };
}

/** A limit of this size with the default algorithm: the two-bucket counter. */
export function scenarioOf({ bounds: _, seeds: _seeds, limit, ...rest }: Row, seed: number): Scenario {
  return { ...rest, seed, limit: { kind: Kind.weighted, limit, bucketMs: rest.windowMs, buckets: 1 } };
}

/** The row whose used part of the limit is compared. */
export function baseOf(rows: readonly Row[], { limit, demand, mode }: Row): Row {
  return rows.find((one) => one.limit === limit && one.demand === demand && one.mode === mode)!;
}

export function meansOf({ limit }: Row, runs: readonly Measured[]): Means {
  const mean = (of: (run: Measured) => number) => runs.reduce((sum, run) => sum + of(run), 0) / runs.length;
  return {
    callsPerRequest: mean((run) => run.callsPerRequest),
    withoutWait: mean((run) => run.withoutWait),
    mostRelative: mean((run) => run.mostInWindow / limit),
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
