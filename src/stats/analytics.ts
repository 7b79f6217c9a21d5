/**
 * Counts as data points of Analytics Engine. The columns are the same for every metric:
 *
 *     index1   the policy, or the place
 *     blob1    the metric: decisions, units, near_limit, shadow_limit, store_calls, fallback or lease_units
 *     blob2    the policy, or the place
 *     blob3    the region                                        (decisions)
 *     blob4    the outcome, or the event                         (decisions, units, store_calls; lease_units)
 *     blob5    the source, or the limit's id                     (decisions; near_limit, shadow_limit)
 *     double1  the count; of `units` and `lease_units` the units
 *     double2  seconds that the calls took, all together         (store_calls)
 *
 * A column that a metric does not use is empty. What is beyond the bound is summed by metric, with `other` in place of
 * every label.
 */

import type { DataPoint } from "../config/stats.ts";
import type { MinuteCounts } from "./batch.ts";
import { seriesOf } from "./batch.ts";
import { METRICS, OTHER } from "./metrics.ts";

/** The most data points of one invocation of the Worker. Cloudflare allows more (250, 2026-11). */
export const MAX_POINTS = 25;

const COLUMNS: Readonly<Record<string, number>> = {
  policy: 1,
  place: 1,
  region: 2,
  outcome: 3,
  event: 3,
  source: 4,
  limit: 4,
};
const WRITTEN = METRICS.filter(({ type }) => type === "counter");

/** At most `MAX_POINTS`: the largest counts, and the sums of the others. */
export function dataPoints(minutes: readonly MinuteCounts[]): DataPoint[] {
  const sums = new Map<string, number>();
  for (const { sums: own } of minutes) {
    for (const [series, sum] of Object.entries(own)) sums.set(series, (sums.get(series) ?? 0) + sum);
  }
  const points = [...sums].flatMap(([series, sum]): DataPoint[] => {
    const [name, ...labels] = series.split("\t");
    const metric = WRITTEN.find((one) => one.series === name);
    if (!metric) return [];
    const blobs = [metric.series, "", "", "", ""];
    for (const [at, label] of metric.labels.entries()) blobs[COLUMNS[label]!] = labels[at]!;
    const micros = name === "store_calls" ? (sums.get(seriesOf("store_seconds_sum", labels)) ?? 0) : 0;
    return [{ indexes: [blobs[1]!], blobs, doubles: [sum, micros / 1e6] }];
  });
  if (points.length <= MAX_POINTS) return points;
  points.sort((a, b) => b.doubles[0]! - a.doubles[0]!);
  const kept = MAX_POINTS - WRITTEN.length;
  const others = new Map<string, DataPoint>();
  for (const { blobs, doubles } of points.slice(kept)) {
    const metric = blobs[0]!;
    const other = others.get(metric) ?? { indexes: [OTHER], blobs: [metric, ...Array(4).fill(OTHER)], doubles: [0, 0] };
    for (const [at, value] of doubles.entries()) other.doubles[at]! += value;
    others.set(metric, other);
  }
  return [...points.slice(0, kept), ...others.values()];
}
