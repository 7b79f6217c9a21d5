/**
 * The column `totals` of an hour. A series that has not counted for 30 days is forgotten when there are many, so that
 * policies, limits and regions that were renamed do not take the place of those that are there now.
 */

import { type Counts, MAX_SERIES, type Sums } from "./counts.ts";
import { type Total, totalsIn } from "./row-text.ts";
import { MAX_MINUTES } from "./timeline.ts";

/** Up to this many series, none is forgotten. */
const KEPT_SERIES = MAX_SERIES / 2;

/** @param totals up to the end of this hour. @param counts of this hour. @param before the text of the last hour. */
export function totalsText(totals: Sums, { arrived, sums }: Counts, before: string | undefined): string {
  const countedAt = new Map(totalsIn(before).map(([series, , hour]) => [series, hour]));
  for (const counted of sums.values()) for (const series of counted.keys()) countedAt.set(series, arrived);
  const all = [...totals].map(([series, sum]): Total => [series, sum, countedAt.get(series) ?? arrived]);
  return JSON.stringify(all.length > KEPT_SERIES ? all.filter(([, , hour]) => arrived - hour <= MAX_MINUTES) : all);
}
