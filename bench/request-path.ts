/**
 * How much the limiter adds to a request in workerd, in microseconds of CPU: matching, keys, decision, header fields.
 * The same Worker runs with and without it, in one run. No request waits for the network: the store is in memory, or it
 * is a Redis that need not be asked (a lease, or a remembered refusal). Leases are renewed in the background. The last
 * column counts the calls to Redis in all batches. What metrics add is measured by `npm run bench -- features`.
 *
 *   npm run bench:path -- --quick
 */

import { build } from "esbuild";
import { Redis } from "ioredis";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { createBridge } from "../scripts/bridge/bridge.ts";
import { startRedisServer } from "../scripts/machine/redis-server.ts";
import type { PathBatch } from "./support/path-batch.ts";

const quick = process.argv.includes("--quick");
const BATCHES = quick ? 5 : 15;
const REQUESTS = 500;
/** Batches for warming up: the JIT compiler runs, and a lease grows. */
const WARM_UP = 10;

const bundled = await build({
  entryPoints: [new URL("request-path.worker.ts", import.meta.url).pathname],
  bundle: true,
  format: "esm",
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  write: false,
});
const server = await startRedisServer();
const bridge = await createBridge({ redisUrl: server.url, token: "bench" });
const redis = new Redis(server.url, { disableClientInfo: true });
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    modules: [{ type: "ESModule", path: "worker.js", contents: bundled.outputFiles[0]!.text }],
    compatibilityDate: "2026-10-01",
    compatibilityFlags: ["enable_request_signal"],
    cf: false,
    handleStructuredLogs() {},
  }),
);

/** `policies` policies with `limits` limits each. Every policy matches, or only the first one. */
function bindings(policies: number, limits: number, matching: "all" | "one"): Record<string, unknown> {
  const windows = Array.from({ length: limits }, (_, i) => ({ limit: 1_000_000, window: `${i + 1}m` }));
  const all = Array.from({ length: policies }, (_, i) => ({
    name: `p${i}`,
    match: { path: matching === "all" || i === 0 ? "/v1/*" : `/v${i + 1}/*` },
    key: i % 2 === 0 ? ["ip"] : ["bearer", "ip"],
    limits: windows,
  }));
  // Five policies fit into the 5 KB that Cloudflare allows for one variable.
  const parts = Array.from({ length: Math.ceil(policies / 5) }, (_, i) => all.slice(5 * i, 5 * i + 5));
  return Object.fromEntries(parts.map((part, i) => [i === 0 ? "POLICIES" : `POLICIES_${i + 1}`, part]));
}

/** One policy over Redis for which the isolate itself answers. */
function local(consistency: string, limit: number, path = "/*"): Record<string, unknown> {
  return {
    POLICIES: [{ name: consistency, match: { path }, limits: [{ limit, window: "1h" }], consistency }],
    UPSTASH_REDIS_REST_URL: bridge.url,
    UPSTASH_REDIS_REST_TOKEN: bridge.token,
    REDIS_TIMEOUT_MS: 10_000,
  };
}

/** The number of EVALSHA calls since Redis started. */
async function callsSoFar(): Promise<number> {
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await redis.info("commandstats"))?.[1] ?? 0);
}

/** The µs that a request took in each batch, in rising order. */
async function batchesOf(run: { bindings: unknown; distinct: boolean; wrapped: boolean }, status: number) {
  const body = JSON.stringify({ ...run, batches: WARM_UP + BATCHES, requests: REQUESTS });
  const response = await miniflare.dispatchFetch("http://bench/", { method: "POST", body });
  const batches = ((await response.json()) as PathBatch[]).slice(WARM_UP);
  if (batches.some(({ statuses }) => statuses[status] !== REQUESTS)) {
    throw new Error(`request-path: expected ${REQUESTS} times ${status}, found ${JSON.stringify(batches)}`);
  }
  return batches.map(({ perRequestUs }) => perRequestUs);
}

const medianOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

async function measure(run: Parameters<typeof batchesOf>[0], status: number) {
  const before = await callsSoFar();
  const us = await batchesOf(run, status);
  return { medianUs: medianOf(us), leastUs: Math.min(...us), calls: (await callsSoFar()) - before };
}

const WRAPPED = "withRateLimit";
const cases: readonly (readonly [name: string, bindings: unknown, distinct?: boolean, status?: number])[] = [
  ["no limiter", null],
  [`${WRAPPED}, admitted from a lease`, local("leased", 1_000_000_000)],
  [`${WRAPPED}, refused from memory`, local("strict", 1), false, 429],
  ["the gateway, no policy matches", local("strict", 1, "/none")],
  ["the gateway, admitted from a lease", local("leased", 1_000_000_000)],
  ["the gateway, refused from memory", local("strict", 1), false, 429],
  ["1 policy of 1 limit, one client", bindings(1, 1, "all")],
  ["1 policy of 1 limit, a new client each time", bindings(1, 1, "all"), true],
  ["1 policy of 8 limits, one client", bindings(1, 8, "all")],
  ["50 policies of 8 limits, 1 matches", bindings(50, 8, "one")],
  ["50 policies of 8 limits, all match", bindings(50, 8, "all")],
];

async function measureAll(): Promise<void> {
  console.log(
    `| case | µs a request | added by the limiter | added, quickest batches | calls to Redis in ${REQUESTS * (WARM_UP + BATCHES)} requests |`,
  );
  console.log("|---|---|---|---|---|");
  let baseline = { medianUs: 0, leastUs: 0 };
  for (const [name, config, distinct = false, status = 200] of cases) {
    const { medianUs, leastUs, calls } = await measure(
      { bindings: config, distinct, wrapped: name.startsWith(WRAPPED) },
      status,
    );
    if (config === null) baseline = { medianUs, leastUs };
    const added = [medianUs - baseline.medianUs, leastUs - baseline.leastUs].map((us) => us.toFixed(1));
    console.log(`| ${name} | ${medianUs.toFixed(1)} | ${added.join(" | ")} | ${calls} |`);
  }
}

try {
  await measureAll();
} finally {
  await miniflare.dispose();
  redis.disconnect();
  await bridge.close();
  await server.stop();
}
