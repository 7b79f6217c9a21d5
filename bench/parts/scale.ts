/** Part 5: what a decision costs Redis with many keys and with many limits. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Flag } from "../../src/core/take.ts";
import { type Decision, keyOf, limitOf, startCostRedis, take, takeOf } from "../support/commands.ts";
import { type Block, figure, type Part, table } from "../support/part.ts";
import { peers } from "../support/peers.ts";
import { median } from "../support/stats.ts";

const UNLIMITED = 1_000_000;
const HOUR_MS = 3_600_000;
const CALLS = 200;
/** The most limits that a policy may have. */
const LIMITS_PER_POLICY = 8;

export const scale: Part = async ({ quick, progress }) => {
  const rounds = quick ? 5 : 15;
  const sizes = quick ? [100, 1_000, 10_000, 100_000] : [100, 1_000, 10_000, 100_000, 1_000_000];
  const recorded = await peers.recorded();
  const redis = await startCostRedis();
  try {
    const upstash = recorded.upstash([{ limit: UNLIMITED, windowMs: HOUR_MS }], "slidingWindow");
    const ours = (i: number): Decision => [take(keyOf(i), [limitOf.weighted(UNLIMITED)])];
    const keyRows: number[][] = [];
    let [filled, perKey] = [0, 0];
    for (const size of sizes) {
      progress(`${size} keys`);
      for (; filled < size; filled += Math.min(10_000, size - filled)) {
        const many: Decision[] = [];
        const until = Math.min(size, filled + 10_000);
        for (let i = filled; i < until; i++) many.push(ours(i));
        await redis.send(many);
      }
      // Random clients, so that the processor's caches do not help.
      const [a, b]: [number[], number[]] = [[], []];
      for (let round = -1; round < rounds; round++) {
        const clients = Array.from({ length: CALLS }, () => Math.floor(Math.random() * size));
        const theirs: Decision[] = [];
        for (const client of clients) theirs.push(await upstash(`client-${client}`, 1));
        const costs = [await redis.measure(clients.map(ours)), await redis.measure(theirs)];
        if (round >= 0) {
          a.push(costs[0]!.usec);
          b.push(costs[1]!.usec);
        }
      }
      keyRows.push([size, median(a), median(b)]);
      perKey = size;
    }

    await redis.flush();
    const limitRows: number[][] = [];
    for (const count of [1, 2, 4, 8, 16, 32]) {
      progress(`${count} limits`);
      const limits = Array.from({ length: count }, (_, i) => limitOf.weighted(UNLIMITED, 1 + (i % LIMITS_PER_POLICY)));
      const specs = Array.from({ length: count }, (_, i) => ({ limit: UNLIMITED, windowMs: (i + 1) * HOUR_MS }));
      const many = recorded.upstash(specs, "slidingWindow");
      const made: Decision[] = [];
      for (let i = 0; i < 50; i++) made.push(await many(`client-${i}`, 1));
      const decide = (i: number): Decision => {
        const keys = Array.from({ length: Math.ceil(count / LIMITS_PER_POLICY) }, (_, k) => ({
          key: keyOf(i % 50, `policy${k}`),
          group: 0,
          cost: 1,
          limits: limits.slice(k * LIMITS_PER_POLICY, (k + 1) * LIMITS_PER_POLICY),
        }));
        return [takeOf({ keys, flag: Flag.take })];
      };
      const [a, b, commands]: [number[], number[], number[]] = [[], [], []];
      for (let round = -1; round < rounds; round++) {
        const cost = await redis.measure(Array.from({ length: CALLS }, (_, i) => decide(i)));
        const theirs = await redis.measure(Array.from({ length: CALLS }, (_, i) => made[i % 50]!));
        if (round < 0) continue;
        a.push(cost.usec);
        b.push(theirs.usec);
        commands.push(cost.commands);
      }
      limitRows.push([count, median(a), median(b), median(commands)]);
    }

    progress("memory of an isolate");
    const remembered = isolateBytes();
    const [first, last] = [keyRows[0]!, keyRows.at(-1)!];
    const [one, most] = [limitRows[0]!, limitRows.at(-1)!];
    const slope = (most[1]! - one[1]!) / (most[0]! - one[0]!) / one[1]!;
    const blocks: Block[] = [
      [
        `### Keys\n\nOne limit, clients at random. From ${first[0]} to ${perKey} keys the cost of a decision grows by the factor `,
        figure(last[1]! / first[1]!),
        ", of `@upstash/ratelimit` by ",
        figure(last[2]! / first[2]!),
        ".",
      ],
      table(
        ["keys", "headgate, µs", "@upstash/ratelimit, µs"],
        keyRows.map((row) => row.map((value, i) => (i === 0 ? String(value) : figure(value)))),
      ),
      [
        `### Limits of one request\n\nPolicies with up to ${LIMITS_PER_POLICY} limits each, one key for each policy. Each further limit costs `,
        figure(slope),
        " times as much as the call with its first limit.",
      ],
      table(
        ["limits", "headgate, µs", "@upstash/ratelimit, µs", "ratio", "headgate's commands"],
        limitRows.map(([n, a, b, c]) => [String(n), ...[a!, b!, a! / b!, c!].map((value) => figure(value))]),
      ),
      "### Memory of an isolate\n\nHeap for each remembered client, in bytes, including V8's own structures. An isolate remembers 10,000 to 20,000 clients.",
      table(
        ["what is remembered", "bytes"],
        [
          ["`strict`: the counts of a client that has used up its limit", figure(remembered.strict, "count")],
          ["`leased`: the units that are held for a client", figure(remembered.leased, "count")],
        ],
      ),
    ];
    const series = (rows: readonly number[][]) =>
      ["headgate", "@upstash/ratelimit"].map((name, i) => ({
        name,
        points: rows.map((row) => [row[0]!, row[i + 1]!] as const),
      }));
    return {
      blocks,
      targets: [],
      charts: {
        "keys.svg": {
          title: "Redis CPU of a decision by keys in Redis",
          xName: "keys",
          yName: "µs",
          series: series(keyRows),
        },
        "limits.svg": {
          title: "Redis CPU of a decision by limits of a request",
          xName: "limits",
          yName: "µs",
          series: series(limitRows),
        },
      },
      figures: { slope, ...remembered },
    };
  } finally {
    await redis.stop();
  }
};

/** Runs in a separate process, because it needs --expose-gc. */
function isolateBytes(): { strict: number; leased: number } {
  const program = fileURLToPath(new URL("../isolate-bytes.ts", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", program], { encoding: "utf8" });
  if (status !== 0) throw new Error(`expected figures from ${program}, found: ${stderr}`);
  return JSON.parse(stdout);
}
