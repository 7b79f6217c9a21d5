/**
 * Prints the gzip size of the Worker as `wrangler deploy` would upload it, and of what a consumer's bundler makes of each entry of
 * the package; fails above a budget.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { wranglerEnv } from "./wrangler-env.ts";

const WORKER_BUDGET_KIB = 64;

/** What consumers import. Hono is theirs, and not counted. */
const ENTRIES: readonly { readonly what: string; readonly program: string; readonly budgetKib: number }[] = [
  {
    what: "headgate, a limiter with the memory store",
    program: 'export { createLimiter, memoryStore } from "./src/index.ts";',
    budgetKib: 12,
  },
  {
    what: "headgate, the same in front of a handler",
    program: 'export { createLimiter, memoryStore, withRateLimit } from "./src/index.ts";',
    budgetKib: 18,
  },
  {
    what: "headgate, with Redis",
    program: 'export { createLimiter, redisStore, withRateLimit } from "./src/index.ts";',
    budgetKib: 48,
  },
  { what: "headgate/hono, alone", program: 'export * from "./src/hono.ts";', budgetKib: 12 },
  { what: "headgate/client", program: 'export * from "./src/client/index.ts";', budgetKib: 3 },
];

function report(what: string, bytes: number, budgetKib: number): void {
  const kib = bytes / 1024;
  console.log(`${what}: ${kib.toFixed(1)} KiB gzip (budget ${budgetKib} KiB)`);
  if (bytes === 0 || kib > budgetKib) process.exitCode = 1;
}

const outdir = mkdtempSync(join(tmpdir(), "headgate-bundle-"));
try {
  const args = ["deploy", "--dry-run", "--outdir", outdir];
  const { status, stdout, stderr } = spawnSync("wrangler", args, { env: wranglerEnv(), encoding: "utf8" });
  if (status !== 0) throw new Error(`wrangler deploy --dry-run failed:\n${stdout}${stderr}`);
  const scripts = readdirSync(outdir).filter((name) => name.endsWith(".js"));
  const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(join(outdir, name))).length, 0);
  report("Worker", bytes, WORKER_BUDGET_KIB);
} finally {
  rmSync(outdir, { recursive: true });
}

for (const { what, program, budgetKib } of ENTRIES) {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: fileURLToPath(new URL("..", import.meta.url)) },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    external: ["hono", "hono/*"],
    write: false,
  });
  report(what, gzipSync(outputFiles[0]!.contents).length, budgetKib);
}
