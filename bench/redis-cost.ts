/**
 * What a decision costs Redis: microseconds of its CPU, commands, and bytes per key, for each algorithm. Everything
 * runs on one private server, and a script of one GET and one SET is the baseline.
 *
 *   node bench/redis-cost.ts [--quick]
 *
 * The time is `usec_per_call` of EVALSHA (INFO commandstats). It leaves out reading the request and writing the reply.
 * All cases run once in every round, so that a busy moment of the machine slows all of them. The result is the median
 * over the rounds.
 */

import { Kind } from "../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../src/kernel/core/algorithms.ts";
import { Flag } from "../src/kernel/core/take.ts";
import { type Call, keyOf, limitOf, startCostRedis, take } from "./support/commands.ts";
import { describeMachine } from "./support/machine.ts";
import { median } from "./support/stats.ts";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 12 : 60;
const CALLS = 500;
/** Rounds for rare and expensive cases. Each such round makes one call. */
const RARE_ROUNDS = 7;
const KEYS = 1_000;
/** Entries in each log that is timed. */
const LOG_ENTRIES = 100;
const nameOf = (name: string, i: number) => keyOf(i, name.padEnd(7, "-"));

const BASELINE = "redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])";
const HOUR_MS = 3_600_000;
const UNLIMITED = 1_000_000_000;

interface Case {
  readonly title: string;
  /** Calls that fill the keys. They are not measured. */
  readonly prepare?: readonly Call[];
  /** The n-th call, counted over all rounds. */
  readonly call: (n: number) => Call;
  /** The case is prepared again before each call. */
  readonly isRare?: true;
}

const each = (count: number, call: (i: number) => readonly Call[]) =>
  Array.from({ length: count }, (_, i) => call(i)).flat();

const eight = (limit: (units: number, n: number) => LimitSpec, units: number) =>
  Array.from({ length: 8 }, (_, i) => limit(units, i + 1));

/** Requests that are always admitted, and requests that are always refused. The latter's key is charged first. */
function pair(title: string, name: string, limits: (units: number) => readonly LimitSpec[]): Case[] {
  const one = (key: string, units: number) => take(key, limits(units));
  return [
    { title: `${title}, admitted`, call: (n) => one(nameOf(`${name}a`, n % KEYS), UNLIMITED) },
    {
      title: `${title}, refused`,
      prepare: each(KEYS, (i) => [one(nameOf(`${name}r`, i), 1)]),
      call: (n) => one(nameOf(`${name}r`, n % KEYS), 1),
    },
  ];
}

/** The order in which a script runs its commands. */
const ORDER = "EVALSHA TIME MGET GET LRANGE LTRIM RPUSH ZCOUNT ZREMRANGEBYSCORE ZADD ZREM PEXPIRE SET".split(" ");

const EPOCH_MS = 1_800_000_000_000;
const STEP_MS = 10;

function logCases(): Case[] {
  const fill = (name: string, nowMs: (entry: number) => number, limit: LimitSpec) =>
    each(KEYS, (i) => each(LOG_ENTRIES, (entry) => [take(nameOf(name, i), [limit], { nowMs: nowMs(entry) })]));
  const now = () => 0;
  const full = limitOf.log(LOG_ENTRIES);
  const moving: LimitSpec = { kind: Kind.log, limit: LOG_ENTRIES, windowMs: LOG_ENTRIES * STEP_MS };
  return [
    {
      title: "sliding-log, admitted",
      prepare: fill("loga", now, limitOf.log(10_000)),
      call: (n) => take(nameOf("loga", n % KEYS), [limitOf.log(10_000)]),
    },
    {
      // The clock is an argument (no TIME), so that exactly one entry expires at each call.
      title: "sliding-log, admitted, one entry expires",
      prepare: fill("logm", (entry) => EPOCH_MS + entry * STEP_MS, moving),
      call: (n) => {
        const nowMs = EPOCH_MS + (LOG_ENTRIES + Math.floor(n / KEYS)) * STEP_MS;
        return take(nameOf("logm", n % KEYS), [moving], { nowMs });
      },
    },
    {
      title: "sliding-log, refused, cost 1",
      prepare: fill("logr", now, full),
      call: (n) => take(nameOf("logr", n % KEYS), [full]),
    },
    {
      title: `sliding-log, refused, cost ${LOG_ENTRIES}: reads ${LOG_ENTRIES} entries`,
      prepare: fill("logc", now, full),
      call: (n) => take(nameOf("logc", n % KEYS), [full], { cost: LOG_ENTRIES }),
    },
  ];
}

/** The most that a full log of the largest size can cost in one call. */
function largestLogCases(): Case[] {
  const LARGEST = 10_000;
  const limit = limitOf.log(LARGEST);
  const full = (name: string, lastAtMs: number) =>
    each(LARGEST, (entry) => {
      const nowMs = entry === LARGEST - 1 ? lastAtMs : EPOCH_MS;
      return [take(nameOf(name, 0), [limit], { nowMs })];
    });
  return [
    {
      title: `sliding-log, refused, cost ${LARGEST}: reads ${LARGEST} entries`,
      prepare: full("logl", EPOCH_MS),
      call: () => take(nameOf("logl", 0), [limit], { cost: LARGEST, nowMs: EPOCH_MS }),
      isRare: true,
    },
    {
      title: `sliding-log, admitted, ${LARGEST - 1} entries expire`,
      prepare: full("loge", EPOCH_MS + HOUR_MS - 1),
      call: () => take(nameOf("loge", 0), [limit], { nowMs: EPOCH_MS + HOUR_MS }),
      isRare: true,
    },
  ];
}

function concurrencyCases(): Case[] {
  const HELD = 5;
  const hold = (name: string) =>
    each(KEYS, (i) => each(HELD, (slot) => [take(nameOf(name, i), [limitOf.concurrency(HELD)], { slot: slot + 1 })]));
  const slot = (n: number) => 1_000_000 + n;
  return [
    {
      title: "concurrency, admitted",
      prepare: hold("conca"),
      call: (n) => take(nameOf("conca", n % KEYS), [limitOf.concurrency(UNLIMITED)], { slot: slot(n) }),
    },
    {
      // Releases the slots that the previous case took in the same round.
      title: "concurrency, released",
      call: (n) =>
        take(nameOf("conca", n % KEYS), [limitOf.concurrency(UNLIMITED)], { slot: slot(n), flag: Flag.giveBack }),
    },
    {
      title: "concurrency, refused",
      prepare: hold("concr"),
      call: (n) => take(nameOf("concr", n % KEYS), [limitOf.concurrency(HELD)], { slot: slot(n) }),
    },
  ];
}

const redis = await startCostRedis();
const send = (calls: readonly Call[]) => redis.send([calls]);
const measure = (calls: readonly Call[]) => redis.measure(calls.map((call) => [call]));
try {
  const record = "x".repeat(29);
  const cases: Case[] = [
    {
      title: "`GET` + `SET`",
      call: (n) => ({ text: BASELINE, keys: [nameOf("base", n % KEYS)], args: [record, HOUR_MS] }),
    },
    ...pair("fixed-window", "fix", (units) => [limitOf.fixed(units)]),
    ...pair("calendar", "cal", (units) => [limitOf.calendar(units)]),
    ...pair("sliding-window, 1 bucket", "win1", (units) => [limitOf.weighted(units)]),
    ...pair("sliding-window, 10 buckets", "win10", (units) => [limitOf.weighted10(units)]),
    ...pair("sliding-window, 60 buckets", "win60", (units) => [limitOf.weighted60(units)]),
    ...pair("token-bucket, leaky-bucket", "buck", (units) => [limitOf.bucket(Math.min(units, 1_000_000))]),
    ...logCases(),
    ...largestLogCases(),
    ...concurrencyCases(),
    ...pair("3 sliding windows of 1 bucket", "win3", (units) => eight(limitOf.weighted, units).slice(0, 3)),
    ...pair("a calendar limit and a sliding window", "calwin", (units) => [
      limitOf.calendar(units),
      limitOf.weighted(units),
    ]),
    ...pair("2 sliding windows of 1 bucket", "win2", (units) => eight(limitOf.weighted, units).slice(0, 2)),
    ...pair("8 sliding windows of 1 bucket", "win8", (units) => eight(limitOf.weighted, units)),
  ];

  const commands = new Map<Case, Record<string, number>>();
  const rounds = new Map<Case, number[]>(cases.map((one) => [one, []]));
  for (const one of cases) {
    await send(one.prepare ?? []);
    commands.set(one, (await measure([one.call(0)])).byName);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const one of cases) {
      if (one.isRare) {
        if (round >= RARE_ROUNDS) continue;
        await redis.flush(one.call(0).keys);
        await send(one.prepare ?? []);
      }
      const calls = Array.from({ length: one.isRare ? 1 : CALLS }, (_, i) => one.call(1 + round * CALLS + i));
      const { usec } = await measure(calls);
      rounds.get(one)!.push(usec);
    }
  }

  const baseline = rounds.get(cases[0]!)!;
  console.log(`${await describeMachine()}; ${ROUNDS} rounds of ${CALLS} calls over ${KEYS} keys\n`);
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
    ["fixed-window", [limitOf.fixed(UNLIMITED)], 50],
    ["calendar", [limitOf.calendar(UNLIMITED)], 50],
    ["sliding-window, 1 bucket", [limitOf.weighted(UNLIMITED)], 50],
    ["sliding-window, 10 buckets", [limitOf.weighted10(UNLIMITED)], 50],
    ["sliding-window, 60 buckets", [limitOf.weighted60(UNLIMITED)], 50],
    ["8 sliding windows of 1 bucket", eight(limitOf.weighted, UNLIMITED), 50],
    ["8 sliding windows of 60 buckets", eight(limitOf.weighted60, UNLIMITED), 50],
    ["token-bucket, leaky-bucket", [limitOf.bucket(1_000_000)], 50],
    ...[1, 50, 1_000, 10_000].map((n) => [`sliding-log, ${n} entries`, [limitOf.log(10_000)], n] as const),
    ...[1, 50, 1_000].map((n) => [`concurrency, ${n} in flight`, [limitOf.concurrency(UNLIMITED)], n] as const),
  ];
  for (const [title, limits, requests] of sizes) {
    await redis.flush();
    await send(Array.from({ length: requests }, (_, i) => take(nameOf("size", 0), limits, { slot: 2 ** 52 + i })));
    const { bytes } = await redis.memory();
    console.log(`| ${title} | ${bytes}${requests >= 1_000 ? ` (${(bytes / requests).toFixed(1)} each)` : ""} |`);
  }
} finally {
  await redis.stop();
}
