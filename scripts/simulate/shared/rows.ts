/** What the simulation of `shared` must show: its runs, and the bounds for each of them. */

import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import type { Measured, Scenario } from "./run.ts";

/** One row: a traffic, over several seeds. */
export interface Row extends Omit<Scenario, "limit" | "seed"> {
  readonly algorithm: keyof typeof LIMITS;
  readonly units: number;
  readonly seeds: number;
  /** In every run: what is admitted after the first window, relative to the smaller of demand and limit. */
  readonly later?: readonly [least: number, most: number];
  /** In every run: the most units in a window that begins after the second `sync`, relative to the limit. */
  readonly worstAtMost?: number;
}

const WINDOW_MS = 10_000;
const SYNC_MS = 1_000;
const DELAY_MS = [5, 100] as const;
/** The first window, and ten more. */
const WINDOWS = 11;
const SEEDS = 10;
const FEW_SEEDS = 3;
/** Of steady demand. */
const WITHIN = [0.95, 1.05] as const;
/** Whole buckets return up to a bucket late: of ten, this is what a strict limiter admits. */
const WHOLE_BUCKETS = 10;
const OF_WHOLE = WHOLE_BUCKETS / (WHOLE_BUCKETS + 1);

export const LIMITS = {
  "sliding window": (limit: number) => ({ kind: Kind.weighted, limit, bucketMs: WINDOW_MS, buckets: 1 }),
  "10 whole buckets": (limit: number) => ({
    kind: Kind.whole,
    limit,
    bucketMs: WINDOW_MS / WHOLE_BUCKETS,
    buckets: WHOLE_BUCKETS,
  }),
  "fixed window": (limit: number) => ({ kind: Kind.fixedWindow, limit, windowMs: WINDOW_MS }),
  "token bucket": (limit: number) => ({
    kind: Kind.bucket,
    limit,
    windowMs: WINDOW_MS,
    burst: limit / 5,
    maxDelayMs: 0,
  }),
} satisfies Readonly<Record<string, (limit: number) => LimitSpec>>;

const STEADY = (["sliding window", "fixed window", "token bucket", "10 whole buckets"] as const).flatMap((algorithm) =>
  [20, 100, 300].flatMap((isolates) =>
    [0.5, 0.95, 2, 10].map((demand): Row => {
      const isWhole = algorithm === "10 whole buckets" && demand > OF_WHOLE;
      const [least, most] = WITHIN;
      const later = isWhole ? ([least * OF_WHOLE, most] as const) : WITHIN;
      return row({ algorithm, isolates, demand, later });
    }),
  ),
);
/** Limits that are smaller than the number of isolates. All isolates have told something by the second `sync`. */
const SMALL = (["sliding window", "fixed window", "token bucket"] as const).flatMap((algorithm) =>
  [10, 50].map((units) => row({ algorithm, units, demand: units === 10 ? 100 : 50, zipf: 0, worstAtMost: 2 })),
);

export const ROWS: readonly Row[] = [...STEADY, ...SMALL];

function row(rest: Partial<Row> & Pick<Row, "algorithm" | "demand">): Row {
  return {
    units: 10_000,
    isolates: 100,
    zipf: 1,
    syncMs: SYNC_MS,
    delayMs: DELAY_MS,
    windows: WINDOWS,
    seeds: rest.algorithm === "10 whole buckets" || rest.algorithm === "token bucket" ? FEW_SEEDS : SEEDS,
    ...rest,
  };
}

export function scenarioOf({ algorithm, units, isolates, demand, zipf, syncMs, delayMs, windows }: Row, seed: number) {
  return { limit: LIMITS[algorithm](units), isolates, demand, zipf, syncMs, delayMs, windows, seed } satisfies Scenario;
}

/** The bounds that are missed, in words. Empty if all hold. */
export function missed({ later, worstAtMost, isolates }: Row, runs: readonly Measured[]): string[] {
  const misses: string[] = [];
  const [least, most] = later ?? [0, Number.POSITIVE_INFINITY];
  if (runs.some((run) => run.later < least || run.later > most)) misses.push(`${least} to ${most} admitted`);
  if (worstAtMost !== undefined && runs.some(({ worst }) => worst > worstAtMost))
    misses.push(`worst <= ${worstAtMost}`);
  if (runs.some(({ calls }) => calls > 1.2)) misses.push("1.2 calls per second and isolate");
  if (runs.some(({ atOnce }) => atOnce > isolates)) misses.push("one limit per isolate at once");
  return misses;
}
