/**
 * Prints the gzip size of the Worker as `wrangler deploy` would upload it, and the size of each entry of the package in
 * a user's bundle. Fails above a budget, or if a page says another size. `--write` (npm run docs:sizes) writes the
 * table of docs/performance.md.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { wranglerEnv } from "../dev/wrangler-env.ts";
import { addedByGateway, entrySizes } from "./entry-sizes.ts";
import { writeSizes, wrongSizes } from "./page-sizes.ts";

const WORKER_BUDGET_KIB = 178.8;

const sizes: { readonly what: string; readonly bytes: number }[] = [];

function report(what: string, bytes: number, budgetKib: number): void {
  sizes.push({ what, bytes });
  const kib = bytes / 1024;
  console.log(`${what}: ${kib.toFixed(1)} KiB gzip (budget ${budgetKib} KiB)`);
  if (bytes > 0 && kib <= budgetKib) return;
  console.error(`${what}: above its budget by ${(kib - budgetKib).toFixed(2)} KiB`);
  process.exitCode = 1;
}

const outdir = mkdtempSync(join(tmpdir(), "headgate-bundle-"));
try {
  const args = ["deploy", "--dry-run", "--outdir", outdir];
  const { status, stdout, stderr } = spawnSync("wrangler", args, { env: wranglerEnv(), encoding: "utf8" });
  if (status !== 0) throw new Error(`wrangler deploy --dry-run failed:\n${stdout}${stderr}`);
  const scripts = readdirSync(outdir).filter((name) => name.endsWith(".js"));
  const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(join(outdir, name))).length, 0);
  report("the whole gateway, as `wrangler deploy` uploads it", bytes, WORKER_BUDGET_KIB);
} finally {
  rmSync(outdir, { recursive: true });
}

for (const { what, bytes, budgetKib } of await entrySizes()) report(what, bytes, budgetKib);

if (process.argv.includes("--write")) writeSizes(sizes);
for (const wrong of wrongSizes(sizes, await addedByGateway())) {
  console.error(wrong);
  process.exitCode = 1;
}
