/**
 * `npm run simulate`: runs the code of src/isolate on a virtual clock and network. Prints what leases and known
 * refusals do for many kinds of traffic. Ends with exit code 1 if a bound of scripts/simulate/targets.ts is missed.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawChart } from "./chart.ts";
import { type Options, parseOptions, USAGE, UsageError } from "./options.ts";
import { runAll } from "./pool.ts";
import { type Result, reportOf, table } from "./report.ts";
import type { Measured, Scenario } from "./run.ts";
import { baseOf, exactOf, meansOf, missed, type Row, scenarioOf } from "./targets.ts";

/** Runs each scenario once, with a progress line on stderr. */
async function measure(scenarios: readonly Scenario[]): Promise<(scenario: Scenario) => Measured> {
  const distinct = new Map(scenarios.map((scenario) => [JSON.stringify(scenario), scenario]));
  // The longest runs first, so that no long run begins at the end.
  const keys = [...distinct.keys()].sort((a, b) => requestsOf(distinct.get(b)!) - requestsOf(distinct.get(a)!));
  const show = (done: number) => process.stderr.write(`\rsimulate: ${done} of ${keys.length} runs`);
  show(0);
  const all = keys.map((key) => distinct.get(key)!);
  const measured = await runAll<Scenario, Measured>(new URL("./worker.ts", import.meta.url), all, show);
  process.stderr.write("\n");
  const results = new Map(keys.map((key, i) => [key, measured[i]!]));
  return (scenario) => results.get(JSON.stringify(scenario))!;
}

const requestsOf = ({ limit, demand, windows }: Scenario) => limit.limit * demand * windows;

async function runTable({ rows, seeds, json, out }: Options): Promise<boolean> {
  const all = rows.flatMap((row) => seeds.flatMap((seed) => [scenarioOf(row, seed), scenarioOf(exactOf(row), seed)]));
  const of = await measure(all);
  const runs = (row: Row) => seeds.map((seed) => of(scenarioOf(row, seed)));
  const means = (row: Row) => meansOf(row, runs(row), runs(exactOf(row)));
  const results = rows.map((row): Result => {
    const own = means(row);
    return { row, ...own, missed: missed(row, own, means(baseOf(rows, row))) };
  });
  console.log(json ? JSON.stringify(results, null, 2) : reportOf(results));
  if (out) {
    for (const row of rows.filter(({ mode }) => mode === "leased")) {
      const [leased, strict] = [scenarioOf(row, seeds[0]!), scenarioOf(exactOf(row), seeds[0]!)];
      writeChart(out, leased, of(strict), of(leased));
    }
  }
  return results.every((result) => result.missed.length === 0);
}

async function runOwn(scenarios: readonly Scenario[], { json, out }: Options): Promise<void> {
  const of = await measure(scenarios);
  const runs = scenarios.map((scenario) => ({ scenario, ...of(scenario) }));
  const headings = ["mode", "requests", "calls / request", "no wait", "most in a window", "counted", "used"];
  const lines = runs.map(({ scenario: { mode }, ...run }) => [
    mode,
    String(run.requests),
    run.callsPerRequest.toFixed(4),
    run.withoutWait.toFixed(3),
    String(run.mostInWindow),
    run.mostCounted.toFixed(1),
    run.used.toFixed(4),
  ]);
  console.log(json ? JSON.stringify(runs, null, 2) : table([headings, ...lines]));
  if (!out) return;
  const counts = (wanted: Scenario["mode"]) => runs.find(({ scenario: { mode } }) => mode === wanted);
  writeChart(out, scenarios[0]!, counts("strict"), counts("leased"));
}

function writeChart(folder: string, scenario: Scenario, strict?: Measured, leased?: Measured): void {
  const { limit, windowMs, demand, isolates, arrivals, seed } = scenario;
  const units = limit.limit.toLocaleString("en");
  const steady = arrivals === "steady";
  const most = [strict && `strict ${strict.mostInWindow}`, leased && `leased ${leased.mostInWindow}`].filter(Boolean);
  const svg = drawChart({
    title: `${units} per ${windowMs / 1000} s, demand ${demand} times that, ${isolates} isolates${steady ? "" : ", bursts"}`,
    description: `One run, seed ${seed}. Most admitted in a true window: ${most.join(", ")}.`,
    windowMs,
    limit: limit.limit,
    strict: strict?.perTenth,
    leased: leased?.perTenth,
  });
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${limit.limit}-${demand}-${isolates}${steady ? "" : "-bursts"}.svg`);
  writeFileSync(file, svg);
  process.stderr.write(`${file}: ${svg.length} bytes\n`);
}

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === "help") console.log(USAGE);
  else if (options.own) await runOwn(options.own, options);
  else if (!(await runTable(options))) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`simulate: ${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
