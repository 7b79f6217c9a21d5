/**
 * What the limiter adds to a request in workerd, in microseconds of CPU: matching, keys, decision (memory store: no network),
 * headers. One run, the same Worker with and without it.
 */

import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";

const quick = process.argv.includes("--quick");
const BATCHES = quick ? 5 : 15;
const REQUESTS = 500;

const bundled = await build({
  entryPoints: [new URL("request-path.worker.ts", import.meta.url).pathname],
  bundle: true,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  write: false,
});
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    modules: [{ type: "ESModule", path: "worker.js", contents: bundled.outputFiles[0]!.text }],
    compatibilityDate: "2026-10-01",
    compatibilityFlags: ["enable_request_signal"],
    cf: false,
    handleStructuredLogs() {},
  }),
);

/** `policies` policies of `limits` limits each, of which every one matches, or only one in fifty. */
function bindings(policies: number, limits: number, matching: "all" | "one"): Record<string, unknown> {
  const windows = Array.from({ length: limits }, (_, i) => ({ limit: 1_000_000, window: `${i + 1}m` }));
  const all = Array.from({ length: policies }, (_, i) => ({
    name: `p${i}`,
    match: { path: matching === "all" || i === 0 ? "/v1/*" : `/v${i + 1}/*` },
    key: i % 2 === 0 ? ["ip"] : ["bearer", "ip"],
    limits: windows,
  }));
  // Five of them stay below the 5 KB that Cloudflare allows one variable.
  const parts = Array.from({ length: Math.ceil(policies / 5) }, (_, i) => all.slice(5 * i, 5 * i + 5));
  return Object.fromEntries(parts.map((part, i) => [i === 0 ? "POLICIES" : `POLICIES_${i + 1}`, part]));
}

async function medianUs(run: { bindings: unknown; distinct: boolean }): Promise<number> {
  const body = JSON.stringify({ ...run, batches: 2 + BATCHES, requests: REQUESTS });
  const response = await miniflare.dispatchFetch("http://bench/", { method: "POST", body });
  // The first batches warm the compiler up.
  const batches = ((await response.json()) as number[]).slice(2).sort((a, b) => a - b);
  return batches[Math.floor(batches.length / 2)]!;
}

const cases = [
  ["no limiter", null, false],
  ["1 policy of 1 limit, one client", bindings(1, 1, "all"), false],
  ["1 policy of 1 limit, a new client each time", bindings(1, 1, "all"), true],
  ["1 policy of 8 limits, one client", bindings(1, 8, "all"), false],
  ["50 policies of 8 limits, 1 matches", bindings(50, 8, "one"), false],
  ["50 policies of 8 limits, all match", bindings(50, 8, "all"), false],
] as const;

try {
  console.log(`| case | µs a request | added by the limiter |\n|---|---|---|`);
  let baseline = 0;
  for (const [name, config, distinct] of cases) {
    const us = await medianUs({ bindings: config, distinct });
    if (config === null) baseline = us;
    console.log(`| ${name} | ${us.toFixed(1)} | ${config === null ? "–" : (us - baseline).toFixed(1)} |`);
  }
} finally {
  await miniflare.dispose();
}
