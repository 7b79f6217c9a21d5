/**
 * What a decision costs Redis: microseconds of its CPU, commands, and bytes per key, for each algorithm. All in one run on one
 * private server, with a script of one GET and one SET as the baseline.
 *
 *   node bench/redis-cost.ts [--quick]
 *
 * The time is `usec_per_call` of EVALSHA (INFO commandstats), which leaves out reading the request and writing the reply. Rounds
 * of all cases alternate, so that a busy moment of the machine meets all of them; the median of the rounds counts.
 */

import { cpus } from "node:os";
import { Redis } from "ioredis";
import { startRedisServer } from "../scripts/redis-server.ts";
import { Kind } from "../src/core/algorithm.ts";
import type { LimitSpec } from "../src/core/algorithms.ts";
import { Flag, keysOfRequest, type TakeRequest } from "../src/core/take.ts";
import { TAKE } from "../src/redis/script.generated.ts";
import { encodeRequest } from "../src/store/redis.ts";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 12 : 60;
const CALLS = 500;
/** Rounds of what is dear and seldom, of one call each. */
const RARE_ROUNDS = 7;
const KEYS = 1_000;
/** Entries of each log that is timed. */
const LOG_ENTRIES = 100;
/** As many bytes as most keys of the gateway have: 37. */
const keyOf = (name: string, i: number) => `hg:1:{${name.padEnd(7, "-")}:${String(i).padStart(22, "0")}}`;

const BASELINE = "redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])";
const HOUR_MS = 3_600_000;
const UNLIMITED = 1_000_000_000;

interface Call {
  readonly sha1: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

interface Case {
  readonly title: string;
  /** Fills the keys; nothing of it is measured. */
  readonly prepare?: readonly Call[];
  /** The n-th call of all rounds. */
  readonly call: (n: number) => Call;
  /** Prepared anew before each call. */
  readonly isRare?: true;
}

interface TakeOptions {
  readonly cost?: number;
  readonly flag?: Flag;
  readonly nowMs?: number;
  readonly slot?: number;
}

function take(
  key: string,
  limits: readonly LimitSpec[],
  { cost = 1, flag = Flag.take, nowMs = 0, slot = 0 }: TakeOptions,
): Call {
  const request: TakeRequest = { keys: [{ key, group: 0, cost, limits }], flag, slot };
  return { sha1: TAKE.sha1, keys: keysOfRequest(request), args: encodeRequest(request, nowMs) };
}

const each = (count: number, call: (i: number) => readonly Call[]) =>
  Array.from({ length: count }, (_, i) => call(i)).flat();

// Limits, by how many units each has.

const sliding = (limit: number, buckets = 1, windowMs = HOUR_MS): LimitSpec => {
  return { kind: Kind.weighted, limit, bucketMs: windowMs / buckets, buckets };
};
const eight = (limit: number) => Array.from({ length: 8 }, (_, i) => sliding(limit, 1, (i + 1) * HOUR_MS));
const fixed = (limit: number): LimitSpec => ({ kind: Kind.fixedWindow, limit, windowMs: HOUR_MS });
const bucket = (burst: number): LimitSpec => {
  return { kind: Kind.bucket, limit: 1, windowMs: HOUR_MS, burst, maxDelayMs: 0 };
};
const log = (limit: number, windowMs = HOUR_MS): LimitSpec => ({ kind: Kind.log, limit, windowMs });
const concurrency = (limit: number): LimitSpec => ({ kind: Kind.concurrency, limit, timeoutMs: HOUR_MS });

/** Admitted always, and refused always: one unit is charged first, so that a key holds something. */
function pair(title: string, name: string, limits: (units: number) => readonly LimitSpec[]): Case[] {
  const one = (key: string, units: number) => take(key, limits(units), {});
  return [
    { title: `${title}, admitted`, call: (n) => one(keyOf(`${name}a`, n % KEYS), UNLIMITED) },
    {
      title: `${title}, refused`,
      prepare: each(KEYS, (i) => [one(keyOf(`${name}r`, i), 1)]),
      call: (n) => one(keyOf(`${name}r`, n % KEYS), 1),
    },
  ];
}

/** In which a script runs them. */
const ORDER = "EVALSHA TIME MGET GET LRANGE LTRIM RPUSH ZCOUNT ZREMRANGEBYSCORE ZADD ZREM PEXPIRE SET".split(" ");

const EPOCH_MS = 1_800_000_000_000;
const STEP_MS = 10;

function logCases(): Case[] {
  const fill = (name: string, nowMs: (entry: number) => number, limit: LimitSpec) =>
    each(KEYS, (i) => each(LOG_ENTRIES, (entry) => [take(keyOf(name, i), [limit], { nowMs: nowMs(entry) })]));
  const now = () => 0;
  const full = log(LOG_ENTRIES);
  const moving = log(LOG_ENTRIES, LOG_ENTRIES * STEP_MS);
  return [
    {
      title: "sliding-log, admitted",
      prepare: fill("loga", now, log(10_000)),
      call: (n) => take(keyOf("loga", n % KEYS), [log(10_000)], {}),
    },
    {
      // With its own clock (no TIME), so that exactly one expires each time.
      title: "sliding-log, admitted, one entry expires",
      prepare: fill("logm", (entry) => EPOCH_MS + entry * STEP_MS, moving),
      call: (n) => {
        const nowMs = EPOCH_MS + (LOG_ENTRIES + Math.floor(n / KEYS)) * STEP_MS;
        return take(keyOf("logm", n % KEYS), [moving], { nowMs });
      },
    },
    {
      title: "sliding-log, refused, cost 1",
      prepare: fill("logr", now, full),
      call: (n) => take(keyOf("logr", n % KEYS), [full], {}),
    },
    {
      title: `sliding-log, refused, cost ${LOG_ENTRIES}: reads ${LOG_ENTRIES} entries`,
      prepare: fill("logc", now, full),
      call: (n) => take(keyOf("logc", n % KEYS), [full], { cost: LOG_ENTRIES }),
    },
  ];
}

/** What a full log of the largest size can cost at once. */
function largestLogCases(): Case[] {
  const LARGEST = 10_000;
  const limit = log(LARGEST);
  const full = (name: string, lastAtMs: number) =>
    each(LARGEST, (entry) => {
      const nowMs = entry === LARGEST - 1 ? lastAtMs : EPOCH_MS;
      return [take(keyOf(name, 0), [limit], { nowMs })];
    });
  return [
    {
      title: `sliding-log, refused, cost ${LARGEST}: reads ${LARGEST} entries`,
      prepare: full("logl", EPOCH_MS),
      call: () => take(keyOf("logl", 0), [limit], { cost: LARGEST, nowMs: EPOCH_MS }),
      isRare: true,
    },
    {
      title: `sliding-log, admitted, ${LARGEST - 1} entries expire`,
      prepare: full("loge", EPOCH_MS + HOUR_MS - 1),
      call: () => take(keyOf("loge", 0), [limit], { nowMs: EPOCH_MS + HOUR_MS }),
      isRare: true,
    },
  ];
}

function concurrencyCases(): Case[] {
  const HELD = 5;
  const hold = (name: string) =>
    each(KEYS, (i) => each(HELD, (slot) => [take(keyOf(name, i), [concurrency(HELD)], { slot: slot + 1 })]));
  const slot = (n: number) => 1_000_000 + n;
  return [
    {
      title: "concurrency, admitted",
      prepare: hold("conca"),
      call: (n) => take(keyOf("conca", n % KEYS), [concurrency(UNLIMITED)], { slot: slot(n) }),
    },
    {
      // What the case before took in the same round.
      title: "concurrency, released",
      call: (n) => take(keyOf("conca", n % KEYS), [concurrency(UNLIMITED)], { slot: slot(n), flag: Flag.giveBack }),
    },
    {
      title: "concurrency, refused",
      prepare: hold("concr"),
      call: (n) => take(keyOf("concr", n % KEYS), [concurrency(HELD)], { slot: slot(n) }),
    },
  ];
}

const server = await startRedisServer();
const redis = new Redis(server.url, { disableClientInfo: true });
try {
  const baselineSha1 = (await redis.script("LOAD", BASELINE)) as string;
  await redis.script("LOAD", TAKE.text);
  const record = "x".repeat(29);
  const cases: Case[] = [
    {
      title: "`GET` + `SET`",
      call: (n) => ({ sha1: baselineSha1, keys: [keyOf("base", n % KEYS)], args: [record, HOUR_MS] }),
    },
    ...pair("fixed-window", "fix", (units) => [fixed(units)]),
    ...pair("sliding-window, 1 bucket", "win1", (units) => [sliding(units)]),
    ...pair("sliding-window, 10 buckets", "win10", (units) => [sliding(units, 10)]),
    ...pair("sliding-window, 60 buckets", "win60", (units) => [sliding(units, 60)]),
    ...pair("token-bucket, leaky-bucket", "buck", (units) => [bucket(Math.min(units, 1_000_000))]),
    ...logCases(),
    ...largestLogCases(),
    ...concurrencyCases(),
    ...pair("3 sliding windows of 1 bucket", "win3", (units) => eight(units).slice(0, 3)),
    ...pair("8 sliding windows of 1 bucket", "win8", eight),
  ];

  const commands = new Map<Case, Record<string, number>>();
  const rounds = new Map<Case, number[]>(cases.map((one) => [one, []]));
  for (const one of cases) {
    await send(one.prepare ?? []);
    commands.set(one, (await measure([one.call(0)])).commands);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const one of cases) {
      if (one.isRare) {
        if (round >= RARE_ROUNDS) continue;
        await redis.del(...one.call(0).keys);
        await send(one.prepare ?? []);
      }
      const calls = Array.from({ length: one.isRare ? 1 : CALLS }, (_, i) => one.call(1 + round * CALLS + i));
      const { usec } = await measure(calls);
      rounds.get(one)!.push(usec / calls.length);
    }
  }

  const baseline = rounds.get(cases[0]!)!;
  const { length, 0: cpu } = cpus();
  const day = new Date().toISOString().slice(0, 10);
  console.log(
    `${server.version}, ${length} x ${cpu?.model ?? "unknown CPU"}, ${day}; ${ROUNDS} rounds of ${CALLS} calls over ${KEYS} keys\n`,
  );
  console.log("| Script | ratio | µs | commands |\n|---|---|---|---|");
  for (const one of cases) {
    const us = rounds.get(one)!;
    const ratio = median(us.map((value, i) => value / baseline[i]!));
    const names = Object.entries(commands.get(one)!)
      .sort(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b))
      .map(([name, n]) => (n > 1 ? `${n} ${name}` : name));
    const count = Object.values(commands.get(one)!).reduce((a, b) => a + b, 0);
    console.log(`| ${one.title} | ${ratio.toFixed(1)} | ${median(us).toFixed(2)} | ${count}: ${names.join(" ")} |`);
  }

  console.log("\n| Keys of one client | bytes |\n|---|---|");
  const sizes: readonly (readonly [title: string, limits: readonly LimitSpec[], requests: number])[] = [
    ["fixed-window", [fixed(UNLIMITED)], 50],
    ["sliding-window, 1 bucket", [sliding(UNLIMITED)], 50],
    ["sliding-window, 10 buckets", [sliding(UNLIMITED, 10)], 50],
    ["sliding-window, 60 buckets", [sliding(UNLIMITED, 60)], 50],
    ["8 sliding windows of 1 bucket", eight(UNLIMITED), 50],
    ["8 sliding windows of 60 buckets", eight(UNLIMITED).map((_, i) => sliding(UNLIMITED, 60, (i + 1) * HOUR_MS)), 50],
    ["token-bucket, leaky-bucket", [bucket(1_000_000)], 50],
    ...[1, 50, 1_000, 10_000].map((n) => [`sliding-log, ${n} entries`, [log(10_000)], n] as const),
    ...[1, 50, 1_000].map((n) => [`concurrency, ${n} in flight`, [concurrency(UNLIMITED)], n] as const),
  ];
  for (const [title, limits, requests] of sizes) {
    await redis.flushall();
    const calls = Array.from({ length: requests }, (_, i) => take(keyOf("size", 0), limits, { slot: 2 ** 52 + i }));
    await send(calls);
    const keys = await redis.keys("*");
    const bytes = await Promise.all(keys.map((key) => redis.memory("USAGE", key, "SAMPLES", 0) as Promise<number>));
    const total = bytes.reduce((a, b) => a + b, 0);
    console.log(`| ${title} | ${total}${requests >= 1_000 ? ` (${(total / requests).toFixed(1)} each)` : ""} |`);
  }
} finally {
  redis.disconnect();
  await server.stop();
}

async function send(calls: readonly Call[]): Promise<void> {
  for (let from = 0; from < calls.length; from += 5_000) {
    const pipeline = redis.pipeline();
    for (const { sha1, keys, args } of calls.slice(from, from + 5_000))
      pipeline.evalsha(sha1, keys.length, ...keys, ...args);
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }
}

/** What Redis spent on EVALSHA for these calls, in µs, and what it ran. */
async function measure(calls: readonly Call[]): Promise<{ usec: number; commands: Record<string, number> }> {
  await redis.config("RESETSTAT");
  await send(calls);
  const stats = [...(await redis.info("commandstats")).matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm)];
  const usec = Number(stats.find(([, name]) => name === "evalsha")?.[3]);
  const commands = stats.map(([, name, n]) => [name!.toUpperCase(), Number(n)] as const);
  return { usec, commands: Object.fromEntries(commands.filter(([name]) => name !== "CONFIG|RESETSTAT")) };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2;
}
