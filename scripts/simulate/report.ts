/** The results as the table of bench/results/consistency.md. */

import { table } from "../build/results.ts";
import { type Means, type Row, WINDOW_MS } from "./targets.ts";

export interface Result extends Means {
  readonly row: Row;
  /** The bounds that are missed, in words. */
  readonly missed: readonly string[];
}

export function rowsOf(results: readonly Result[]): string {
  return table(
    ["Limit", "Demand", "Processes", "Traffic", "Mode", "Calls per request", "No wait", "Fullest window", "Used"],
    results.map(({ row, callsPerRequest, withoutWait, mostRelative, used }) => [
      `${row.limit.toLocaleString("en")}${row.windowMs === WINDOW_MS ? "" : ` per ${row.windowMs / 1_000} s`}`,
      ...[row.demand, row.isolates, row.arrivals, `\`${row.mode}\``],
      ...[callsPerRequest.toFixed(3), `${Math.round(100 * withoutWait)} %`, mostRelative.toFixed(3), used.toFixed(3)],
    ]),
  );
}
