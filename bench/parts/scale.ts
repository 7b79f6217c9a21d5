/** Part 5: what a decision costs Redis with many keys, and what an isolate keeps of each client. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Cost, type CostRedis, type Decision, keyOf, limitOf, startCostRedis, take } from "../support/commands.ts";
import { type Block, figure, type Part, table } from "../support/part.ts";
import { peers } from "../support/peers.ts";
import { median } from "../support/stats.ts";

const UNLIMITED = 1_000_000;
const HOUR_MS = 3_600_000;
/** The window of the part about keys: no window ends while they are filled and measured, unless a day does. */
const KEYS_HOURS = 24;
const CALLS = 200;

export const scale: Part = async ({ quick, progress }) => {
  const rounds = quick ? 5 : 15;
  const sizes = quick ? [100, 1_000, 10_000, 100_000] : [100, 1_000, 10_000, 100_000, 1_000_000];
  const recorded = await peers.recorded();
  const redis = await startCostRedis();
  try {
    const upstash = recorded.upstash([{ limit: UNLIMITED, windowMs: KEYS_HOURS * HOUR_MS }], "slidingWindow");
    const ours = (i: number): Decision => [take(keyOf(i), [limitOf.weighted(UNLIMITED, KEYS_HOURS)])];
    const keyRows: number[][] = [];
    let perKey = 0;
    // Client 0 is counted by the limiters, and the keys of all others are copies of its keys.
    const theirFirst = await upstash("client-0", 1);
    const theirKey = theirFirst[0]!.keys[0]!;
    await redis.send([ours(0), theirFirst]);
    let filled = 1;
    for (const size of sizes) {
      progress(`${size} keys`);
      while (filled < size) {
        const clients = Array.from({ length: Math.min(10_000, size - filled) }, (_, i) => filled + i);
        await redis.copy(
          keyOf(0),
          clients.map((i) => keyOf(i)),
        );
        await redis.copy(
          theirKey,
          clients.map((i) => theirKey.replace("client-0", `client-${i}`)),
        );
        filled += clients.length;
      }
      // Random clients, so that the processor's caches do not help.
      const [a, b]: [number[], number[]] = [[], []];
      for (let round = -1; round < rounds; round++) {
        const clients = Array.from({ length: CALLS }, () => Math.floor(Math.random() * size));
        const theirs: Decision[] = [];
        for (const client of clients) theirs.push(await upstash(`client-${client}`, 1));
        const [cost, theirCost] = await inTurn(redis, round, clients.map(ours), theirs);
        if (round < 0) continue;
        a.push(cost.usec);
        b.push(theirCost.usec);
      }
      keyRows.push([size, median(a), median(b), median(a.map((usec, i) => usec / b[i]!))]);
      perKey = size;
    }

    progress("memory of an isolate");
    const remembered = isolateBytes();
    const [first, last] = [keyRows[0]!, keyRows.at(-1)!];
    const blocks: Block[] = [
      [
        `### Keys\n\nOne limit; clients are drawn at random. From ${first[0]} to ${perKey} keys the cost of a decision grows by the factor `,
        figure(last[1]! / first[1]!),
        ", of `@upstash/ratelimit` by ",
        figure(last[2]! / first[2]!),
        ". The sizes are measured one after the other; ratios are within a round.",
      ],
      table(
        ["keys", "headgate, µs", "@upstash/ratelimit, µs", "ratio"],
        keyRows.map((row) => row.map((value, i) => (i === 0 ? String(value) : figure(value)))),
      ),
      "### Memory of an isolate\n\nHeap for each remembered client. An isolate remembers 10,000 to 20,000 clients.",
      table(
        ["what is remembered", "bytes"],
        [
          ["`strict`: the counts of a client that has used up its limit", figure(remembered.strict, "count")],
          ["`leased`: the units that are held for a client", figure(remembered.leased, "count")],
        ],
      ),
    ];
    return {
      blocks,
      targets: [],
      charts: {},
      figures: { ...remembered },
    };
  } finally {
    await redis.stop();
  }
};

/** Measures both. Each is first in half of the rounds. */
async function inTurn(
  redis: CostRedis,
  round: number,
  ours: readonly Decision[],
  theirs: readonly Decision[],
): Promise<[ours: Cost, theirs: Cost]> {
  if (round % 2 === 0) return [await redis.measure(ours), await redis.measure(theirs)];
  const theirCost = await redis.measure(theirs);
  return [await redis.measure(ours), theirCost];
}

/** Runs in a separate process, because it needs --expose-gc. */
function isolateBytes(): { strict: number; leased: number } {
  const program = fileURLToPath(new URL("../isolate-bytes.ts", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", program], { encoding: "utf8" });
  if (status !== 0) throw new Error(`expected figures from ${program}, found: ${stderr}`);
  return JSON.parse(stdout);
}
