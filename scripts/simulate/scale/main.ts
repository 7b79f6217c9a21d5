/**
 * `npm run docs:scale`: runs the rows of bench/results/objects.md, keeps the results in bench/results/objects.json and
 * writes the page's tables; minutes. `-- --tables`: only writes the tables again. test/simulate/scale.test.ts runs a
 * few rows again, and compares them with what was kept.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { runAll } from "../pool.ts";
import { MEASURED_FILE, withTables } from "./page.ts";
import { GROUPS } from "./rows.ts";
import type { Measured, Scenario } from "./run.ts";

const PAGE = new URL("../../../bench/results/objects.md", import.meta.url);

const { tables } = parseArgs({ options: { tables: { type: "boolean", default: false } } }).values;
if (!tables) {
  const rows = new Map(GROUPS.flatMap(({ rows }) => rows).map((row) => [JSON.stringify(row), row]));
  const scenarios = [...rows.values()].sort((a, b) => b.rate - a.rate);
  const measured = await runAll<Scenario, Measured>("docs:scale", new URL("./run.ts", import.meta.url), scenarios);
  const results = scenarios.map((scenario, i) => ({ scenario, measured: measured[i]! }));
  const rounded = (_: string, value: unknown) => (typeof value === "number" ? Number(value.toPrecision(6)) : value);
  writeFileSync(MEASURED_FILE, `${JSON.stringify(results, rounded, 2)}\n`);
}
writeFileSync(PAGE, withTables(readFileSync(PAGE, "utf8")));
