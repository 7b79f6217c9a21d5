/**
 * `npm run simulate:shared`: what many isolates admit under `consistency = "shared"`. Prints a table and writes it
 * into bench/results/consistency.md. Ends with exit code 1 if a bound of rows.ts is missed.
 */

import { table, writeResult } from "../../build/results.ts";
import { runAll } from "../pool.ts";
import { missed, ROWS, scenarioOf } from "./rows.ts";
import type { Measured, Scenario } from "./run.ts";

const runs = ROWS.flatMap((row) => Array.from({ length: row.seeds }, (_, i) => ({ row, seed: i + 1 })));
runs.sort((a, b) => b.row.units * b.row.demand - a.row.units * a.row.demand);
const measured = await runAll<Scenario, Measured>(
  "simulate:shared",
  new URL("./run.ts", import.meta.url),
  runs.map(({ row, seed }) => scenarioOf(row, seed)),
);

const lines = ROWS.map((row) => {
  const own = measured.filter((_, i) => runs[i]!.row === row);
  const range = (of: (run: Measured) => number) => {
    const all = own.map(of);
    return `${Math.min(...all).toFixed(3)} to ${Math.max(...all).toFixed(3)}`;
  };
  const most = (of: (run: Measured) => number) => Math.max(...own.map(of)).toFixed(2);
  const misses = missed(row, own);
  if (misses.length > 0) {
    process.exitCode = 1;
    console.error(`missed by ${JSON.stringify(row)}: ${misses.join(", ")}`);
  }
  return [
    ...[row.algorithm, row.units.toLocaleString("en"), row.isolates, row.demand, range((run) => run.later)],
    ...[most((run) => run.first), most((run) => run.worst), most((run) => run.calls)],
  ];
});
const HEADINGS = ["Algorithm", "Limit", "Processes", "Demand", "Admitted", "First window", "Fullest window", "Calls"];
const markdown = table(HEADINGS, lines);
console.log(markdown);
writeResult("consistency.md", "shared", "simulate:shared", markdown);
