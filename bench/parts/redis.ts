/** Part 1: what a decision costs Redis in CPU time, commands and bytes. */

import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { type Cost, type CostRedis, type Decision, keyOf, limitOf, startCostRedis, take } from "../support/commands.ts";
import { type Block, figure, type Part, type Table, type Target, type Text, table } from "../support/part.ts";
import { peers, type Recorded } from "../support/peers.ts";
import { median } from "../support/stats.ts";

const UNLIMITED = 1_000_000;
const HOUR_MS = 3_600_000;
/**
 * Calls of a turn, and the calls before it that are not measured: a Redis that limits runs one script all the time, so
 * its caches are warm.
 */
const TURN = { calls: 200, warmUp: 50 } as const;
/** The scripts of the targets run in every round. There are many other scripts: each runs once in this many rounds. */
const OTHERS_EVERY = 4;
const KEYS = 200;
/** What the chart shows of each number of limits, by its name there. A star is a fixed window. */
const DRAWN: Readonly<Record<string, string>> = {
  "headgate sliding-window": "headgate",
  "@upstash/ratelimit slidingWindow": "@upstash/ratelimit",
  "rate-limiter-flexible (fixed window)": "rate-limiter-flexible *",
  "hono-rate-limiter (fixed window)": "hono-rate-limiter *",
  "`INCR` + `EXPIRE`": "INCR + EXPIRE *",
};

interface Case {
  readonly title: string;
  readonly decide: (n: number) => Promise<Decision>;
  /** The costs by round. A round in which the script did not run is absent. */
  readonly costs: Map<number, Cost>;
}

export const redisCost: Part = async ({ quick, progress }) => {
  const rounds = quick ? 6 : 32;
  const redis = await startCostRedis();
  try {
    const recorded = await peers.recorded();
    const scripts = await peers.scripts();
    const targets: Target[] = [];
    const blocks: Block[] = [];
    const figures: Record<string, number> = {};
    const bars: { name: string; value: number }[] = [];

    for (const count of [1, 3, 8]) {
      // The page shows refusals under one limit.
      for (const state of count === 1 ? (["admitted", "refused"] as const) : (["admitted"] as const)) {
        progress(`${count} limits, ${state}`);
        await redis.flush();
        const cases = [
          ...(await casesOf(redis, recorded, count, state)),
          caseOf("baseline: a script with `GET` and `SET`", async (n) => [
            { text: scripts.GET_SET!, keys: [keyOf(n % KEYS, "base")], args: ["x".repeat(29), HOUR_MS] },
          ]),
          caseOf("baseline: an empty script", async () => [{ text: scripts.BARE!, keys: [], args: [] }]),
        ];
        await runRounds(redis, cases, rounds, TURN);
        const [ours, upstash] = cases as [Case, Case];
        const limits = count === 1 ? "1 limit" : `${count} limits`;
        blocks.push(`### ${limits}, ${state}`, tableOf(cases, upstash));
        for (const one of cases)
          figures[`${one.title}, ${count}, ${state}`] = median([...one.costs.values()].map((cost) => cost.commands));
        if (state === "admitted") {
          const ratio = ratioOf(ours, upstash);
          figures[`ratio, ${count}`] = ratio;
          for (const one of cases.filter(({ title }) => title in DRAWN))
            bars.push({ name: `${DRAWN[one.title]}, ${limits}`, value: median(usecs(one)) });
          const bound = { 1: 1.3, 3: 0.6, 8: 0.4 }[count]!;
          targets.push({
            what: `Redis CPU, ${count} sliding-window limit${count > 1 ? "s" : ""} / ${count} call${count > 1 ? "s" : ""} of \`@upstash/ratelimit\``,
            bound: `≤ ${bound}`,
            measured: figure(ratio),
            holds: ratio <= bound,
          });
        }
      }
    }
    const commands = [1, 3, 8].map((count) => figures[`headgate sliding-window, ${count}, admitted`]!);
    targets.push({
      what: "Redis commands, 1, 3, 8 window limits of a policy",
      bound: "≤ 4",
      measured: commands.flatMap((n, i) => [i > 0 ? ", " : "", figure(n)]),
      holds: commands.every((n) => n <= 4),
    });
    progress("bytes");
    blocks.push("### Bytes per client", ...(await bytes(redis, recorded)));
    const chart = {
      title: "Redis CPU of one admitted decision, over sliding windows; * fixed windows",
      unit: "µs",
      rows: bars,
      group: Object.keys(DRAWN).length,
    };
    return { blocks, targets, charts: { "redis-cpu.svg": chart }, figures };
  } finally {
    await redis.stop();
  }
};

const caseOf = (title: string, decide: Case["decide"]): Case => ({ title, decide, costs: new Map() });
const usecs = ({ costs }: Case) => [...costs.values()].map(({ usec }) => usec);
/** The median ratio over the rounds in which both ran. */
const ratioOf = (one: Case, reference: Case) =>
  median([...one.costs].map(([round, { usec }]) => usec / reference.costs.get(round)!.usec));

/** The targets compare the first two cases. */
async function casesOf(
  redis: CostRedis,
  recorded: Recorded,
  count: number,
  state: "admitted" | "refused",
): Promise<Case[]> {
  // Of several limits, the last one is used up.
  const units = (i: number) => (state === "refused" && i === count - 1 ? 1 : UNLIMITED);
  const specs = Array.from({ length: count }, (_, i) => ({ limit: units(i), windowMs: (i + 1) * HOUR_MS }));
  const ours = (title: string, limits: LimitSpec[], name: string) =>
    caseOf(`headgate ${title}`, async (n) => [take(keyOf(n % KEYS, name), limits)]);
  const list = (limit: (units: number, n: number) => LimitSpec) => specs.map((_, i) => limit(units(i), i + 1));
  // The calls are recorded once for each client: a limiter's own code takes longer than Redis, and part 2 measures it.
  const theirs = (title: string, decide: (key: string, cost: number) => Promise<Decision>) => {
    const made: Decision[] = [];
    return caseOf(title, async (n) => (made[n % KEYS] ??= await decide(`client-${n % KEYS}`, 1)));
  };

  const sortedSet = recorded.sortedSetLog(specs);
  const cases = [
    ours("sliding-window", list(limitOf.weighted), "default"),
    theirs("@upstash/ratelimit slidingWindow", recorded.upstash(specs, "slidingWindow")),
    ours("sliding-window, 10 buckets", list(limitOf.weighted10), "tenfold"),
    ours("fixed-window", list(limitOf.fixed), "aligned"),
    theirs("@upstash/ratelimit fixedWindow", recorded.upstash(specs, "fixedWindow")),
    ours("token-bucket", list(limitOf.bucket), "buckets"),
    theirs("@upstash/ratelimit tokenBucket", recorded.upstash(specs, "tokenBucket")),
    ours(
      "sliding-log",
      specs.map((_, i) => limitOf.log(Math.min(units(i), 10_000), i + 1)),
      "logbook",
    ),
    // Each request needs another member, so its calls are recorded each time.
    caseOf("sorted-set log", (n) => sortedSet(`client-${n % KEYS}`, 1)),
    theirs("hash of 10 sub-buckets", recorded.hashBuckets(specs)),
    theirs("`INCR` + `EXPIRE`", recorded.incrExpire(specs)),
    theirs("hono-rate-limiter (fixed window)", recorded.honoRateLimiter(specs)),
    theirs("rate-limiter-flexible (fixed window)", recorded.rateLimiterFlexible(specs)),
    ...(count === 1 ? [concurrency(state)] : []),
  ];
  // Fill every key. Keys that refuse have one unit, and this takes it.
  for (const one of cases) {
    const first: Decision[] = [];
    for (let n = 0; n < KEYS; n++) first.push(await one.decide(n));
    await redis.send(first);
  }
  return cases;
}

/** Each request has its own slot. */
function concurrency(state: "admitted" | "refused"): Case {
  const limits = [limitOf.concurrency(state === "refused" ? 1 : UNLIMITED)];
  return caseOf("headgate concurrency", async (n) => [take(keyOf(n % KEYS, "inhand-"), limits, { slot: 1 + n })]);
}

/** Runs the cases forwards and backwards in turn, so that no case always follows the same other case. */
async function runRounds(
  redis: CostRedis,
  cases: readonly Case[],
  rounds: number,
  { calls, warmUp }: { readonly calls: number; readonly warmUp: number },
): Promise<void> {
  for (let round = -1; round < rounds; round++) {
    for (let i = 0; i < cases.length; i++) {
      const at = round % 2 === 0 ? i : cases.length - 1 - i;
      if (at >= 2 && round > 0 && round % OTHERS_EVERY !== 0) continue;
      const one = cases[at]!;
      const decisions: Decision[] = [];
      const first = KEYS + (round + 1) * (warmUp + calls);
      for (let n = 0; n < warmUp + calls; n++) decisions.push(await one.decide(first + n));
      await redis.send(decisions.slice(0, warmUp));
      const cost = await redis.measure(decisions.slice(warmUp));
      // The first round loads scripts and warms up. It is not counted.
      if (round >= 0) one.costs.set(round, cost);
    }
  }
}

function tableOf(cases: readonly Case[], reference: Case): Table {
  const rows = cases.map((one) => [
    one.title,
    figure(ratioOf(one, reference)),
    figure(median(usecs(one))),
    figure(median([...one.costs.values()].map(({ commands }) => commands))),
  ]);
  return table(["", "CPU / @upstash/ratelimit slidingWindow", "µs", "commands"], rows);
}

async function bytes(redis: CostRedis, recorded: Recorded): Promise<Block[]> {
  const rows: Text[][] = [];
  for (const [title, of] of [
    ["headgate sliding-window", (count: number) => headgateBytes(count, limitOf.weighted)],
    ["headgate sliding-window, 10 buckets", (count: number) => headgateBytes(count, limitOf.weighted10)],
    ["headgate sliding-log", (count: number) => headgateBytes(count, (_, n) => limitOf.log(10_000, n))],
    ["@upstash/ratelimit slidingWindow", (count: number) => recorded.upstash(specsOf(count), "slidingWindow")],
    ["`INCR` + `EXPIRE`", (count: number) => recorded.incrExpire(specsOf(count))],
    ["sorted-set log", (count: number) => recorded.sortedSetLog(specsOf(count))],
    ["hash of 10 sub-buckets", (count: number) => recorded.hashBuckets(specsOf(count))],
    ["hono-rate-limiter", (count: number) => recorded.honoRateLimiter(specsOf(count))],
    ["rate-limiter-flexible", (count: number) => recorded.rateLimiterFlexible(specsOf(count))],
  ] as const) {
    const row: Text[] = [title];
    for (const count of [1, 3, 8]) {
      await redis.flush();
      const decide = of(count);
      const decisions: Decision[] = [];
      for (let n = 0; n < 50; n++) decisions.push(await decide("client-0001", 1));
      await redis.send(decisions);
      const { bytes, keys } = await redis.memory();
      row.push([figure(bytes, "count"), ` in ${keys}`]);
    }
    rows.push(row);
  }
  const note =
    "`MEMORY USAGE` after 50 requests of one client, and the number of keys. `@upstash/ratelimit` also keeps the previous window.";
  return [table(["", "1 limit", "3 limits", "8 limits"], rows), note];
}

const specsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ limit: UNLIMITED, windowMs: (i + 1) * HOUR_MS }));

function headgateBytes(count: number, limit: (units: number, n: number) => LimitSpec) {
  const limits = Array.from({ length: count }, (_, i) => limit(UNLIMITED, i + 1));
  return async () => [take(keyOf("client-0001"), limits)];
}
