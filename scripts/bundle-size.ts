/** Prints the gzip size of the Worker as `wrangler deploy` would upload it, and fails above the budget. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { wranglerEnv } from "./wrangler-env.ts";

const BUDGET_KIB = 64;

const outdir = mkdtempSync(join(tmpdir(), "headgate-bundle-"));
try {
  const args = ["deploy", "--dry-run", "--outdir", outdir];
  const { status, stdout, stderr } = spawnSync("wrangler", args, { env: wranglerEnv(), encoding: "utf8" });
  if (status !== 0) throw new Error(`wrangler deploy --dry-run failed:\n${stdout}${stderr}`);
  const scripts = readdirSync(outdir).filter((name) => name.endsWith(".js"));
  const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(join(outdir, name))).length, 0);
  const kib = bytes / 1024;
  console.log(`Worker: ${kib.toFixed(1)} KiB gzip (budget ${BUDGET_KIB} KiB)`);
  if (scripts.length === 0 || kib > BUDGET_KIB) process.exitCode = 1;
} finally {
  rmSync(outdir, { recursive: true });
}
