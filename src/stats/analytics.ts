/**
 * Counts as data points of Analytics Engine. The columns are the same for every metric:
 *
 *     index1   the policy, or the place
 *     blob1    the metric: `series` in metrics.ts
 *     blob2    the policy, or the place
 *     blob3    the region, or the model                          (decisions; settled_units, tokens)
 *     blob4    the outcome, the event, or the type of a token    (decisions, units, store_calls; lease_units; tokens)
 *     blob5    the source, the limit's id, who paid, or for whom (decisions; near_limit; overflow…;
 *              settled_units)
 *     double1  the count; of `…units` the units
 *     double2  seconds that the calls took, all together         (store_calls)
 *
 * A column that a metric does not use is empty. What is beyond the bound is summed with `other` in place of the region
 * and the model; if that leaves too many points, also in place of the policies of settled_units and tokens; if they are
 * still too many, by metric, with `other` in place of each of its labels.
 */

import type { DataPoint } from "../config/stats.ts";
import type { MinuteCounts } from "./batch.ts";
import { seriesOf } from "./batch.ts";
import { METRICS, type Metric, namesModel, OTHER, type Path, withOwnWords, withoutChosen } from "./metrics.ts";

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
  paid_by: 4,
  paid_for: 4,
  gen_ai_response_model: 2,
  gen_ai_token_type: 3,
};
const WRITTEN = METRICS.filter(({ type }) => type === "counter");

/** A series with its sums. */
interface Counted {
  readonly path: Path;
  readonly doubles: readonly [count: number, seconds: number];
}

/** At most `MAX_POINTS`: the largest counts, and the sums of the others. */
export function dataPoints(minutes: readonly MinuteCounts[]): DataPoint[] {
  const sums = new Map<string, number>();
  for (const { sums: own } of minutes) {
    for (const [series, sum] of Object.entries(own)) sums.set(series, (sums.get(series) ?? 0) + sum);
  }
  const counted = [...sums].flatMap(([series, sum]): Counted[] => {
    const path = series.split("\t");
    const [name, ...labels] = path;
    if (!WRITTEN.some((one) => one.series === name)) return [];
    const micros = name === "store_calls" ? (sums.get(seriesOf("store_seconds_sum", labels)) ?? 0) : 0;
    return [{ path, doubles: [sum, micros / 1e6] }];
  });
  return atMost(MAX_POINTS, counted).map(({ path, doubles }) => {
    const [name, ...labels] = path;
    const blobs = [name!, "", "", "", ""];
    for (const [at, label] of metricOf(path).labels.entries()) blobs[COLUMNS[label]!] = labels[at]!;
    return { indexes: [blobs[1]!], blobs, doubles: [...doubles] };
  });
}

/**
 * The largest, and the others summed: without their regions and models if that is enough, then without the policies of
 * models, otherwise by metric. Tokens and dollars are larger numbers than requests: counts are compared by their part
 * of their metric.
 */
function atMost(most: number, counted: Counted[]): Counted[] {
  if (counted.length <= most) return counted;
  const totals = new Map<string, number>();
  for (const { path, doubles } of counted) totals.set(path[0]!, (totals.get(path[0]!) ?? 0) + doubles[0]);
  const partOf = ({ path, doubles }: Counted) => doubles[0] / totals.get(path[0]!)!;
  counted.sort((a, b) => partOf(b) - partOf(a));
  const withoutPayers = (path: Path) => (namesModel(path) ? withOwnWords(path) : withoutChosen(path));
  const byMetric = (path: Path) => [path[0]!, ...metricOf(path).labels.map(() => OTHER)];
  return (
    summedTo(most, counted, withoutChosen) ??
    summedTo(most, counted, withoutPayers) ??
    summedTo(most, counted, byMetric)!
  );
}

/** As many as fit beside the sums of the others. undefined: the sums alone are too many. */
function summedTo(most: number, counted: readonly Counted[], nameOf: (path: Path) => Path): Counted[] | undefined {
  const groupOf = ({ path }: Counted) => nameOf(path);
  const groups = new Set(counted.slice(most).map((one) => groupOf(one).join("\t")));
  let kept = most;
  while (kept > 0 && kept + groups.size > most) groups.add(groupOf(counted[--kept]!).join("\t"));
  if (groups.size > most) return undefined;
  return [...counted.slice(0, kept), ...summed(counted.slice(kept), groupOf)];
}

function summed(counted: readonly Counted[], groupOf: (one: Counted) => Path): Counted[] {
  const groups = new Map<string, Counted>();
  for (const one of counted) {
    const path = groupOf(one);
    const [count, seconds] = groups.get(path.join("\t"))?.doubles ?? [0, 0];
    groups.set(path.join("\t"), { path, doubles: [count + one.doubles[0], seconds + one.doubles[1]] });
  }
  return [...groups.values()];
}

function metricOf([name]: Path): Metric {
  return WRITTEN.find(({ series }) => series === name)!;
}
