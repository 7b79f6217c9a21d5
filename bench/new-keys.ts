/**
 * What a key costs that the process has never seen, and one that it knows, in µs of CPU: beside @upstash/ratelimit,
 * over a fetch that answers at once. And what a decision costs with 100,000 live keys beside 10,000.
 *
 *   npm run bench:keys [-- --quick]
 *   npm run bench:keys -- --before ../clone   in turns with the same in another clone: before a change, and after
 */

import { randomBytes } from "node:crypto";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { Redis } from "@upstash/redis/cloudflare";
import { markdownTable } from "./support/show.ts";
import { median } from "./support/stats.ts";

const { quick, before } = parseArgs({
  options: { quick: { type: "boolean", default: false }, before: { type: "string" } },
}).values;
const [TURNS, TIMES, LIVE_TURNS] = quick ? [4, 2_000, 1] : [15, 5_000, 3];
const [FEW, MANY] = [10_000, 100_000];
const HOUR_MS = 3_600_000;

const URL_OF_NOBODY = "http://127.0.0.1:1";

/** The Redis that both ask: it answers at once, and has counted one unit of everybody. */
let replyOf: () => unknown = () => null;
globalThis.fetch = async () => Response.json({ result: replyOf() });

type Take = (key: string) => Promise<unknown>;

/** A limiter of a clone. */
async function headgateOf(root: URL): Promise<Take> {
  const { createLimiter, redisStore } = await import(new URL("src/index.ts", root).href);
  const { recordIdOf } = await import(new URL("src/core/records.ts", root).href);
  const { Kind } = await import(new URL("src/core/layout.ts", root).href);
  const id = recordIdOf({ kind: Kind.weighted, limit: 100, bucketMs: HOUR_MS, buckets: 1 });
  const reply = () => [Date.now(), id, Math.floor(Date.now() / HOUR_MS), 1, 0];
  const limiter = createLimiter({
    policies: [{ name: "api", limits: [{ limit: 100, window: "1h", buckets: 1 }] }],
    store: redisStore({ url: URL_OF_NOBODY, token: "token" }),
  });
  return (key) => {
    replyOf = reply;
    return limiter.take("api", { key });
  };
}

async function upstash(): Promise<Take> {
  const { Ratelimit } = await import("@upstash/ratelimit");
  const redis = new Redis({ url: URL_OF_NOBODY, token: "token", enableTelemetry: false, enableAutoPipelining: false });
  const limiter = Ratelimit.slidingWindow(100, "1 h");
  const limit = new Ratelimit({ redis, limiter, ephemeralCache: false, timeout: 0 });
  return (key) => {
    replyOf = () => [99, 100];
    return limit.limit(key);
  };
}

/** @returns µs of CPU for each call. */
async function measure(take: Take, keys: readonly string[]): Promise<number> {
  const start = process.cpuUsage();
  for (const key of keys) await take(key);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / keys.length;
}

const keysOf = (count: number) => {
  const bytes = randomBytes(16 * count);
  return Array.from({ length: count }, (_, i) => bytes.toString("hex", 16 * i, 16 * i + 16));
};

const contestants: Record<string, Take> = {
  "@upstash/ratelimit": await upstash(),
  headgate: await headgateOf(new URL("../", import.meta.url)),
  ...(before && { before: await headgateOf(pathToFileURL(`${before}/`)) }),
};
const known = ["192.0.2.1"];
const [few, many] = [keysOf(FEW), keysOf(MANY)];
const cases: Record<string, () => readonly string[]> = {
  "a new key": () => keysOf(TIMES),
  "a known key": () => Array(TIMES).fill(known[0]),
  "one of 10,000 live keys": () => few,
  "one of 100,000 live keys": () => many,
};
const found: Record<string, Record<string, number[]>> = {};
for (const [what, keys] of Object.entries(cases)) {
  const isLive = what.startsWith("one of");
  // All keys are alive before they are measured, and enough is called for the compiler to have done its work.
  for (const take of Object.values(contestants)) await measure(take, isLive ? keys() : keysOf(TIMES));
  for (let turn = 0; turn < (isLive ? LIVE_TURNS : TURNS); turn++) {
    for (const [name, take] of Object.entries(contestants)) {
      found[what] ??= Object.fromEntries(Object.keys(contestants).map((one) => [one, []]));
      found[what][name]!.push(await measure(take, keys()));
    }
  }
}
const names = Object.keys(contestants);
const rows = Object.entries(found).map(([what, byName]) => {
  const us = (name: string) => median(byName[name]!);
  const ratio = us("headgate") / us("@upstash/ratelimit");
  return [what, ...names.map((name) => us(name).toFixed(1)), ratio.toFixed(2)];
});
console.log(markdownTable(["µs of CPU", ...names, "headgate / @upstash/ratelimit"], rows));
