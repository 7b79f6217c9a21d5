/**
 * `npm run simulate`: runs the code of src/kernel/place on a virtual clock and network. Prints what leases and known
 * refusals do for many kinds of traffic, and writes it into bench/results/consistency.md. Ends with exit code 1 if a
 * bound of scripts/simulate/targets.ts is missed.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeResult } from "../build/results.ts";
import { drawChart } from "./chart.ts";
import { runAll } from "./pool.ts";
import { type Result, rowsOf } from "./report.ts";
import type { Measured, Scenario } from "./run.ts";
import { baseOf, CHARTED, meansOf, missed, QUICK, ROWS, type Row, scenarioOf } from "./targets.ts";

const USAGE = `npm run simulate -- [options]

  --quick          two seeds, the rows that take little time: about half a minute; writes nothing
  --json           the results as JSON
  --charts FOLDER  only draws the charts of bench/results/consistency.md`;

/** @returns the runs of each row. */
async function measure(rows: readonly Row[]): Promise<Measured[][]> {
  const runs = rows.flatMap((row) =>
    Array.from({ length: row.seeds }, (_, i) => ({ row, scenario: scenarioOf(row, i + 1) })),
  );
  const requestsOf = ({ limit, demand, windows }: Scenario) => limit.limit * demand * windows;
  runs.sort((a, b) => requestsOf(b.scenario) - requestsOf(a.scenario));
  const measured = await runAll<Scenario, Measured>(
    "simulate",
    new URL("./run.ts", import.meta.url),
    runs.map(({ scenario }) => scenario),
  );
  return rows.map((row) => measured.filter((_, i) => runs[i]!.row === row));
}

/** @returns whether all bounds hold. */
async function runTable(rows: readonly Row[], json: boolean): Promise<boolean> {
  const runs = await measure(rows);
  const means = new Map(rows.map((row, i) => [row, meansOf(row, runs[i]!)]));
  const results = rows.map((row): Result => {
    const own = means.get(row)!;
    return { row, ...own, missed: missed(row, own, means.get(baseOf(rows, row))!) };
  });
  const markdown = rowsOf(results);
  console.log(json ? JSON.stringify(results, null, 2) : markdown);
  if (rows === ROWS) writeResult("consistency.md", "leases", "simulate", markdown);
  const misses = results.filter((result) => result.missed.length > 0);
  for (const result of misses) console.error(`missed by ${JSON.stringify(result.row)}: ${result.missed.join(", ")}`);
  return misses.length === 0;
}

/** One run of each row under `leased`, and the same traffic under `strict`. */
async function drawCharts(folder: string): Promise<void> {
  const leased = await measure(CHARTED);
  const strict = await measure(CHARTED.map((row) => ({ ...row, mode: "strict" })));
  mkdirSync(folder, { recursive: true });
  for (const [i, row] of CHARTED.entries()) {
    const file = join(
      folder,
      `${row.limit}-${row.demand}-${row.isolates}${row.arrivals === "steady" ? "" : "-bursts"}.svg`,
    );
    writeFileSync(file, drawChart(row, { strict: strict[i]![0]!, leased: leased[i]![0]! }));
    process.stderr.write(`${file}\n`);
  }
}

function optionsOf(args: readonly string[]) {
  const flag = { type: "boolean", default: false } as const;
  try {
    const options = { quick: flag, json: flag, help: flag, charts: { type: "string" } } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    console.error(`simulate: ${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const { quick, json, help, charts } = optionsOf(process.argv.slice(2));
if (help) console.log(USAGE);
else if (charts !== undefined) await drawCharts(charts);
else if (!(await runTable(quick ? QUICK : ROWS, json))) process.exitCode = 1;
