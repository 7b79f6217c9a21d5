/** Sums over time, as the object answers them: for each series a list with one number a step. */

import { type CountsText, HOUR, sumsIn } from "./counts.ts";

/**
 * A point costs about 110 bytes in the answer. With more points than this, each covers a longer time: 100 series that
 * count all day are 144,000 points of a minute, and 28,800 of five minutes (3 MB).
 */
const MAX_POINTS = 100_000;
/** Minutes that a point may cover. Each divides the next one. */
const STEPS = [1, 5, 15, 60, 360, 1_440];

export interface Timeline {
  /** The minute, since the epoch, at which the first step begins: a multiple of `step`. */
  readonly from: number;
  /** Minutes that a step covers. */
  readonly step: number;
  readonly series: ReadonlyMap<string, Float64Array>;
}

/**
 * @param from the first minute that counts. @param until the last one. @param rows whose sums are counted; what lies
 * outside of the time is left out.
 */
export function timelineOf(
  from: number,
  until: number,
  step: number,
  rows: Iterable<Pick<CountsText, "sums">>,
): Timeline {
  const start = from - (from % step);
  const length = Math.floor((until - start) / step) + 1;
  const series = new Map<string, Float64Array>();
  for (const row of rows) {
    for (const [minute, name, sum] of sumsIn(row.sums)) {
      const at = Math.floor((minute - start) / step);
      if (at < 0 || at >= length) continue;
      const sums = series.get(name) ?? new Float64Array(length);
      sums[at]! += sum;
      series.set(name, sums);
    }
  }
  return { from: start, step, series };
}

/** The same with fewer points, if there are too many. */
export function shortened(timeline: Timeline, maxPoints = MAX_POINTS): Timeline {
  const longer = STEPS.find((step) => step > timeline.step);
  if (longer === undefined || pointsOf(timeline) <= maxPoints) return timeline;
  return shortened(withStep(timeline, longer), maxPoints);
}

export function hourOf(minute: number): number {
  return minute - (minute % HOUR);
}

function withStep({ from, step, series }: Timeline, longer: number): Timeline {
  const start = from - (from % longer);
  const longerSums = [...series].map(([name, sums]): [string, Float64Array] => {
    const length = Math.floor((from - start + (sums.length - 1) * step) / longer) + 1;
    const merged = new Float64Array(length);
    for (const [i, sum] of sums.entries()) merged[Math.floor((from - start + i * step) / longer)]! += sum;
    return [name, merged];
  });
  return { from: start, step: longer, series: new Map(longerSums) };
}

function pointsOf({ series }: Timeline): number {
  let points = 0;
  for (const sums of series.values()) for (const sum of sums) if (sum > 0) points++;
  return points;
}
