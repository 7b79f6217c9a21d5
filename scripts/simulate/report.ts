/** The results of the table, as text. */

import { table as markdownTable } from "../build/results.ts";
import { type Means, type Row, WINDOW_MS } from "./targets.ts";

export interface Result extends Means {
  readonly row: Row;
  /** The bounds that are missed, in words. */
  readonly missed: readonly string[];
}

const HEADINGS = [
  "limit",
  "demand",
  "isolates",
  "traffic",
  "mode",
  "calls / request",
  "no wait",
  "counted",
  "most / limit",
  "used",
  "",
];

export function reportOf(results: readonly Result[]): string {
  const lines = results.map(({ row, missed, ...means }) => [
    row.limit.toLocaleString("en"),
    String(row.demand),
    String(row.isolates),
    row.arrivals,
    row.mode,
    withBound(means.callsPerRequest, row.bounds.callsAtMost, "<="),
    means.withoutWait.toFixed(2),
    withBound(means.countedRelative, 1, "<="),
    means.mostRelative.toFixed(3),
    withBound(means.used, row.bounds.usedAtLeast ?? lessBy(row), ">="),
    missed.length === 0 ? "holds" : `MISSED: ${missed.join(", ")}`,
  ]);
  return table([HEADINGS, ...lines]);
}

/** The table of bench/results/consistency.md. */
export function rowsOf(results: readonly Result[]): string {
  return markdownTable(
    ["Limit", "Demand", "Processes", "Traffic", "Mode", "Calls per request", "No wait", "Fullest window", "Used"],
    results.map(({ row, callsPerRequest, withoutWait, mostRelative, used }) => [
      `${row.limit.toLocaleString("en")}${row.windowMs === WINDOW_MS ? "" : ` per ${row.windowMs / 1_000} s`}`,
      ...[row.demand, row.isolates, row.arrivals, `\`${row.mode}\``],
      ...[callsPerRequest.toFixed(3), `${Math.round(100 * withoutWait)} %`, mostRelative.toFixed(3), used.toFixed(3)],
    ]),
  );
}

function table(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) => `| ${line.map((cell, c) => cell.padEnd(widths[c]!)).join(" | ")} |`)
    .toSpliced(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`)
    .join("\n");
}

function withBound(value: number, bound: number | string | undefined, sign: string): string {
  return bound === undefined ? value.toFixed(3) : `${value.toFixed(3)} (${sign} ${bound})`;
}

function lessBy({ bounds }: Row): string | undefined {
  return bounds.usedLessBy === undefined ? undefined : `20 steady - ${bounds.usedLessBy}`;
}
