/**
 * One client makes 20 calls at once through the gateway, to a real Redis, under each algorithm: headgate/client beside
 * other HTTP clients that try again. All clients of a run begin at the same instant, each with its own key. A forwarder
 * in front of the gateway counts each client's refusals. Prints a table of
 * docs/decisions/0023-callers-that-wait.md.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createBridge } from "../scripts/bridge/bridge.ts";
import { startRedisServer } from "../scripts/machine/redis-server.ts";
import { CLIENTS, countRefusals } from "./support/clients.ts";
import { describeMachine } from "./support/machine.ts";
import { markdownTable } from "./support/show.ts";
import { median } from "./support/stats.ts";
import { bundleWorker, startWorkerd } from "./support/workerd.ts";

const CALLS = 20;
const RUNS = process.argv.includes("--quick") ? 1 : 5;
/** How long the origin works on a request, in ms: under `concurrency`, and under the other algorithms. */
const WORK_MS = { concurrency: 300, other: 0 };

const window = { limit: 5, window: "2s" } as const;
const LIMITS: Readonly<Record<string, object>> = {
  "sliding-window": window,
  "fixed-window": window,
  "sliding-log": window,
  "token-bucket": window,
  "leaky-bucket": { ...window, maxDelay: "2s" },
  concurrency: { limit: 5 },
};

const OURS = Object.keys(CLIENTS).filter((name) => name.startsWith("`"));
const OTHERS = Object.keys(CLIENTS).filter((name) => !OURS.includes(name));

interface Result {
  readonly tookMs: number;
  readonly refusals: number;
}

const origin = createServer(async (request, response) => {
  await sleep(request.url!.startsWith("/concurrency/") ? WORK_MS.concurrency : WORK_MS.other);
  response.end("ok");
});
await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve));
const redis = await startRedisServer();
const bridge = await createBridge({ redisUrl: redis.url, token: "bench" });
const workerd = await startWorkerd(await bundleWorker("gateway.mjs"), {
  POLICIES: Object.entries(LIMITS).map(([algorithm, limit]) => ({
    name: algorithm,
    match: { path: `/${algorithm}/*` },
    key: ["header:x-client"],
    limits: [{ algorithm, ...limit }],
  })),
  ORIGIN_URL: `http://127.0.0.1:${(origin.address() as AddressInfo).port}`,
  UPSTASH_REDIS_REST_URL: bridge.url,
  UPSTASH_REDIS_REST_TOKEN: bridge.token,
  // The timeout is long, so that a busy machine causes no fallback decisions.
  REDIS_TIMEOUT_MS: 5_000,
});
const forwarder = await countRefusals(workerd.port);

/** Runs all clients from the same instant on, each with its own key. */
async function run(algorithm: string, turn: number): Promise<Readonly<Record<string, Result>>> {
  const all = Object.entries(CLIENTS).map(async ([name, make], i) => {
    const key = `${turn}-${i}`;
    const client = make(new URL(`/${algorithm}/`, forwarder.url), key);
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: CALLS }, () => client.call()));
    const tookMs = performance.now() - startedAt;
    await client.close?.();
    return [name, { tookMs, refusals: forwarder.refusals(key) }] as const;
  });
  return Object.fromEntries(await Promise.all(all));
}

async function measure(): Promise<string> {
  const names = Object.keys(CLIENTS);
  const rows: string[][] = [];
  let turn = 0;
  for (const algorithm of Object.keys(LIMITS)) {
    const runs: Readonly<Record<string, Result>>[] = [];
    while (runs.length < RUNS) {
      // Each run begins at another moment of the window.
      await sleep(370 * runs.length);
      runs.push(await run(algorithm, ++turn));
      console.error(`${algorithm}, run ${runs.length} of ${RUNS}: ${JSON.stringify(runs.at(-1))}`);
    }
    const cells = names.map((name) => {
      const seconds = median(runs.map((one) => one[name]!.tookMs)) / 1000;
      return `${seconds.toFixed(1)} s, ${median(runs.map((one) => one[name]!.refusals))}`;
    });
    const ratios = runs.map((one) => {
      const took = (clients: readonly string[]) => clients.map((name) => one[name]!.tookMs);
      return Math.max(...took(OURS)) / Math.min(...took(OTHERS));
    });
    rows.push([algorithm, ...cells, Math.max(...ratios).toFixed(2)]);
  }
  return markdownTable(["", ...names, "ours to the best, at most"], rows);
}

try {
  console.log(`${await describeMachine()}\n\n${await measure()}`);
} finally {
  await forwarder.close();
  await workerd.stop();
  await bridge.close();
  await redis.stop();
  origin.close();
  origin.closeAllConnections();
}
