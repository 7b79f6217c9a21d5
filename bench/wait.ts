/**
 * `limiter.wait` in real time: 20 isolates call an API that admits 10 per second, each as soon as its limiter lets it,
 * over a real Redis. Each isolate has a store and a limiter of its own. Prints a table of
 * docs/decisions/0023-callers-that-wait.md.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createBridge } from "../scripts/bridge/bridge.ts";
import { startRedisServer } from "../scripts/machine/redis-server.ts";
import { createLimiter, redisStore } from "../src/index.ts";
import { describeMachine } from "./support/machine.ts";
import { markdownTable } from "./support/show.ts";

const SECONDS = process.argv.includes("--quick") ? 10 : 60;
const RATE = 10;
const API_BURST = 10;

const RUNS = [
  { isolates: 20, callers: 1, burst: 1, oneWayMs: 0 },
  { isolates: 20, callers: 1, burst: 1, oneWayMs: 20 },
  { isolates: 20, callers: 20, burst: 1, oneWayMs: 0 },
  { isolates: 1, callers: 20, burst: 3, oneWayMs: 20 },
];

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The API, with a token bucket of its own. */
function limitedApi() {
  let [level, sinceMs] = [API_BURST, performance.now()];
  const counts = { admitted: 0, refused: 0 };
  const server = createServer((_request, response) => {
    const nowMs = performance.now();
    level = Math.min(API_BURST, level + ((nowMs - sinceMs) * RATE) / 1_000);
    sinceMs = nowMs;
    const isAdmitted = level >= 1;
    if (isAdmitted) level--;
    counts[isAdmitted ? "admitted" : "refused"]++;
    response.writeHead(isAdmitted ? 200 : 429).end();
  });
  return { counts, server };
}

const redis = await startRedisServer();
const bridge = await createBridge({ redisUrl: redis.url, token: "bench" });

/** Makes the REST service so far away, and counts its calls. A proxy would take more CPU than what is measured. */
const far = { oneWayMs: 0, calls: 0 };
const near = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  if (!String(input).startsWith(bridge.url)) return await near(input, init);
  far.calls++;
  if (far.oneWayMs > 0) await sleep(far.oneWayMs);
  const answer = await near(input, init);
  if (far.oneWayMs > 0) await sleep(far.oneWayMs);
  return answer;
};

async function run({ isolates, callers, burst, oneWayMs }: (typeof RUNS)[number]): Promise<string[]> {
  const api = limitedApi();
  const apiUrl = await listening(api.server);
  Object.assign(far, { oneWayMs, calls: 0 });
  const key = `${isolates} ${callers} ${burst} ${oneWayMs}`;
  const isOver = new AbortController();
  const tookMs: number[] = [];
  const loops = Array.from({ length: isolates }, () => {
    const limiter = createLimiter({
      policies: [
        {
          name: "api",
          onStoreFailure: "deny",
          limits: [{ algorithm: "token-bucket", limit: RATE, window: "1s", burst }],
        },
      ],
      // The timeout is long, so that a busy machine opens no breaker.
      store: redisStore({ url: bridge.url, token: bridge.token, timeoutMs: 5_000 }),
    });
    return Array.from({ length: callers }, async () => {
      while (!isOver.signal.aborted) {
        const cameAtMs = performance.now();
        const { allowed } = await limiter.wait("api", {
          key,
          timeoutMs: Number.POSITIVE_INFINITY,
          signal: isOver.signal,
        });
        if (!allowed) throw new Error("a wait without an end was refused");
        tookMs.push(performance.now() - cameAtMs);
        await (await fetch(apiUrl)).arrayBuffer();
      }
    });
  });
  await sleep(SECONDS * 1_000);
  const { admitted, refused } = { ...api.counts };
  const { calls } = far;
  isOver.abort();
  await Promise.allSettled(loops.flat());
  api.server.close();
  api.server.closeAllConnections();
  tookMs.sort((a, b) => a - b);
  const seconds = (part: number) => `${(tookMs[Math.floor(tookMs.length * part)]! / 1_000).toFixed(1)} s`;
  return [
    `${isolates} x ${callers}`,
    String(burst),
    `${2 * oneWayMs} ms`,
    `${((100 * admitted) / (RATE * SECONDS)).toFixed(0)} %`,
    String(refused),
    (calls / admitted).toFixed(1),
    `${seconds(0.5)}, ${seconds(0.99)}`,
  ];
}

try {
  const rows: string[][] = [];
  for (const one of RUNS) {
    rows.push(await run(one));
    console.error(rows.at(-1)!.join(" | "));
  }
  const head = [
    "isolates x waits at a time",
    "`burst`",
    "added to a call of Redis",
    "used",
    "refused by the API",
    "calls of Redis for each call of the API",
    "wait, p50 and p99",
  ];
  console.log(`${await describeMachine()}\n\n${markdownTable(head, rows)}`);
} finally {
  await bridge.close();
  await redis.stop();
}
