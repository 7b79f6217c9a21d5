/**
 * What a key costs that the process has never seen, and one that it knows, in µs of CPU: beside @upstash/ratelimit,
 * over a fetch that answers at once. And what a decision costs with 100,000 live keys beside 10,000.
 *
 *   npm run bench:keys [-- --quick]
 *   npm run bench:keys -- --before ../clone   in turns with the same in another clone: before a change, and after
 *
 * Each limiter has a process of its own, and they take turns. In one process they would share the garbage collector,
 * and each would pay for what the others keep.
 */

import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { Redis } from "@upstash/redis/cloudflare";
import { Kind } from "../src/kernel/core/layout.ts";
import { recordIdOf } from "../src/kernel/core/records.ts";
import { markdownTable } from "./support/show.ts";
import { median } from "./support/stats.ts";

/** Calls before anything is measured: after fewer of them the compiler is still at work, on threads of its own. */
const WARM_UP = 40_000;
const HOUR_MS = 3_600_000;

const URL_OF_NOBODY = "http://127.0.0.1:1";

type Take = (key: string) => Promise<unknown>;

/** The Redis that all ask: it answers at once. */
function answerWith(reply: () => unknown): void {
  globalThis.fetch = async () => Response.json({ result: reply() });
}

/** More than all calls together: nobody is refused. */
const LIMIT = 1_000_000_000;

/** A limiter of a clone. Each reply counts more than the last: a Redis that forgets what it has charged is noticed. */
async function headgateOf(root: string): Promise<Take> {
  const { createLimiter, redisStore } = await import(new URL("src/index.ts", root).href);
  const id = recordIdOf({ kind: Kind.weighted, limit: LIMIT, bucketMs: HOUR_MS, buckets: 1 });
  let counted = 0;
  answerWith(() => [Date.now(), id, Math.floor(Date.now() / HOUR_MS), ++counted, 0]);
  const limiter = createLimiter({
    policies: [{ name: "api", limits: [{ limit: LIMIT, window: "1h", buckets: 1 }] }],
    store: redisStore({ url: URL_OF_NOBODY, token: "token" }),
  });
  return (key) => limiter.take("api", { key });
}

/** With its defaults, as headgate: both give a call a time budget, and remember who was refused. */
async function upstash(): Promise<Take> {
  const { Ratelimit } = await import("@upstash/ratelimit");
  const redis = new Redis({ url: URL_OF_NOBODY, token: "token", enableTelemetry: false, enableAutoPipelining: false });
  answerWith(() => [LIMIT - 1, LIMIT]);
  const limiter = new Ratelimit({ redis, limiter: Ratelimit.slidingWindow(LIMIT, "1 h") });
  return (key) => limiter.limit(key);
}

const keysOf = (count: number) => {
  const bytes = randomBytes(16 * count);
  return Array.from({ length: count }, (_, i) => bytes.toString("hex", 16 * i, 16 * i + 16));
};

const CASES = ["a new key", "a known key", "one of 10,000 live keys", "one of 100,000 live keys"] as const;
type Case = (typeof CASES)[number];

/** @returns µs of CPU for each call. */
async function measure(take: Take, keys: readonly string[]): Promise<number> {
  const start = process.cpuUsage();
  for (const key of keys) await take(key);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / keys.length;
}

/** A contestant: measures a case whenever it is told to. @param root of a clone; empty: @upstash/ratelimit. */
async function contend(root: string): Promise<void> {
  const take = root ? await headgateOf(root) : await upstash();
  await measure(take, keysOf(WARM_UP / 2));
  await measure(take, Array(WARM_UP / 2).fill("192.0.2.1"));
  const live = new Map<Case, readonly string[]>();
  async function keysFor(what: Case, times: number): Promise<readonly string[]> {
    if (what === "a new key") return keysOf(times);
    if (what === "a known key") return Array(times).fill("192.0.2.1");
    const known = live.get(what) ?? keysOf(what === "one of 10,000 live keys" ? 10_000 : 100_000);
    if (!live.has(what)) await measure(take, known);
    live.set(what, known);
    return known;
  }
  process.on("message", async ({ what, times }: { what: Case; times: number }) => {
    process.send!(await measure(take, await keysFor(what, times)));
  });
  process.send!("ready");
}

/** Lets the contestants take turns. */
async function run(): Promise<void> {
  const { quick, before } = parseArgs({
    options: { quick: { type: "boolean", default: false }, before: { type: "string" } },
  }).values;
  const [turns, times, liveTurns] = quick ? [25, 2_000, 1] : [75, 2_000, 3];
  const roots: Record<string, string> = {
    "@upstash/ratelimit": "",
    headgate: new URL("../", import.meta.url).href,
    ...(before && { before: pathToFileURL(`${before}/`).href }),
  };
  const names = Object.keys(roots);
  const children: Record<string, ChildProcess> = {};
  for (const name of names) {
    children[name] = fork(import.meta.filename, [roots[name]!], { env: { ...process.env, CONTESTANT: "1" } });
    await once(children[name], "message");
  }
  const rows: string[][] = [];
  for (const what of CASES) {
    const found: Record<string, number[]> = {};
    for (let turn = 0; turn < (what.startsWith("one of") ? liveTurns : turns); turn++) {
      for (const name of names) {
        children[name]!.send({ what, times });
        const [us] = await once(children[name]!, "message");
        found[name] = [...(found[name] ?? []), us];
      }
    }
    const us = (name: string) => median(found[name]!);
    // Turn by turn: what else runs on the machine makes both of a turn dearer.
    const ratio = median(found.headgate!.map((one, turn) => one / found["@upstash/ratelimit"]![turn]!));
    rows.push([what, ...names.map((name) => us(name).toFixed(1)), ratio.toFixed(2)]);
  }
  for (const child of Object.values(children)) child.disconnect();
  console.log(markdownTable(["µs of CPU", ...names, "headgate / @upstash/ratelimit"], rows));
}

if (process.env.CONTESTANT) await contend(process.argv[2]!);
else await run();
