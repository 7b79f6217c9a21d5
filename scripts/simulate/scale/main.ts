/**
 * `npm run docs:scale`: runs the rows of docs/scale.md, keeps the results in docs/scale/measured.json and writes the
 * page's tables; minutes. `-- --quick`: runs the rows that take least time, and ends with exit code 1 if a result
 * differs from the kept one. `-- --tables`: only writes the tables again.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { runAll } from "../pool.ts";
import { differences, keep } from "./kept.ts";
import { withTables } from "./page.ts";
import { GROUPS, QUICK } from "./rows.ts";
import type { Measured, Scenario } from "./run.ts";

const PAGE = new URL("../../../docs/scale.md", import.meta.url);

async function measure(scenarios: readonly Scenario[]) {
  const show = (done: number) => process.stderr.write(`\rdocs:scale: ${done} of ${scenarios.length} runs`);
  show(0);
  const worker = new URL("./worker.ts", import.meta.url);
  const measured = await runAll<Scenario, Measured>(worker, scenarios, show);
  process.stderr.write("\n");
  return scenarios.map((scenario, i) => ({ scenario, measured: measured[i]! }));
}

const { quick, tables } = parseArgs({
  options: { quick: { type: "boolean", default: false }, tables: { type: "boolean", default: false } },
}).values;
if (quick) {
  for (const { scenario, measured } of await measure(QUICK)) {
    const found = differences(scenario, measured);
    if (found.length === 0) continue;
    console.error(`${JSON.stringify(scenario)}\n  ${found.join("\n  ")}`);
    process.exitCode = 1;
  }
} else {
  if (!tables) {
    mkdirSync(new URL("./scale/", PAGE), { recursive: true });
    // The longest runs first, so that no long run begins at the end.
    const distinct = new Map(GROUPS.flatMap(({ rows }) => rows).map((row) => [JSON.stringify(row), row]));
    keep(await measure([...distinct.values()].sort((a, b) => b.rate - a.rate)));
  }
  writeFileSync(PAGE, withTables(readFileSync(PAGE, "utf8")));
}
