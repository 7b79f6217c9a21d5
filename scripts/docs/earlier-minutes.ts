/** An hour of counts that nobody has sent, for pictures: each minute is the real one, with ups and downs. */

import type { Stats } from "../../console/src/api.ts";
import { type Batch, type MinuteCounts, seriesOf } from "../../src/stats/batch.ts";

const MINUTES = 65;
/** How long the login has been attacked, in minutes. */
const ATTACK = 20;

/** @param stats what was counted by now. @param real the minute, since the epoch, to repeat. */
export function earlierMinutes(stats: Stats, real: number): Batch {
  const at = new Date(real * 60_000).toISOString();
  const inMinute = <T extends { readonly at: string }>(list: readonly T[]) => list.filter((one) => one.at === at);
  const rows: (readonly [series: string, count: number])[] = [
    ...inMinute(stats.points).map((one) =>
      row("decisions", [one.policy, one.region, one.outcome, one.source], one.count),
    ),
    ...inMinute(stats.near).map((one) => row("near_limit", [one.policy, one.limit], one.count)),
    ...inMinute(stats.shadowLimits).map((one) => row("shadow_limit", [one.policy, one.limit], one.count)),
    ...inMinute(stats.calls).flatMap(({ place, outcome, count, seconds, sum }) => [
      row("store_calls", [place, outcome], count),
      row("store_seconds_sum", [place, outcome], sum * 1_000_000),
      ...Object.entries(seconds).map(([le, n]) => row("store_seconds", [place, outcome, le], n)),
    ]),
  ];
  const minutes = Array.from({ length: MINUTES }, (_, age): MinuteCounts => {
    // The minute before the real one has had some real traffic already: the last seconds of it.
    const part = age === 0 ? 55 / 60 : 1;
    const sums = rows.map(([series, count]) => [series, Math.round(count * part * times(series, age))]);
    return { minute: real - 1 - age, sums: Object.fromEntries(sums), top: {} };
  });
  return { isolate: "made-up", number: 1, minutes, open: [] };
}

function row(metric: string, labels: readonly string[], count: number): readonly [string, number] {
  return [seriesOf(metric, labels), count];
}

/** The share of the real minute's count. */
function times(series: string, age: number): number {
  const wave = 0.9 + 0.2 * Math.sin(age / 7) + 0.12 * Math.sin(age * 2.3) + 0.08 * Math.sin(age * 5.1);
  if (!/\t(?:refused|shadow_refused)\t/.test(series)) return wave;
  const uneven = wave * (0.8 + 0.5 * Math.sin(age * 1.7));
  if (!series.startsWith("decisions\tlogin\t")) return uneven;
  return age < ATTACK ? uneven : 0.08 * wave;
}
