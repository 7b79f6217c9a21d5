/**
 * How much memory counts take (src/kernel/store/memory.ts: `memoryStore`, and the counters of an outage) with very many
 * clients, for every kind of limit: the heap bytes of one key after garbage collection, and the largest heap while many
 * keys pass through. Prints a table.
 *
 *   node --expose-gc bench/isolate-counts.ts [--quick]
 *
 * `--quick`: only the heaviest keys, and fewer of them.
 * Ends with status 1 if the heap exceeds its bound.
 */

import { Kind } from "../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag, limitKeyOf } from "../src/kernel/core/take.ts";
import { type Counts, createCounts } from "../src/kernel/store/memory.ts";
import { collected } from "./support/heap.ts";

const MIB = 1024 * 1024;
const NOW_MS = 1_700_000_000_000;
const WINDOW_MS = 60_000;
/** The default of `memoryStore`. */
const MAX_KEYS = 20_000;
/** Two generations of 1 KiB for each key, and 25 % more, because src/kernel/store/memory.ts estimates sizes. */
const BOUND_MIB = (2 * MAX_KEYS * 1024 * 1.25) / MIB;
const quick = process.argv.includes("--quick");

const window = (buckets: number, n = 1): LimitSpec => {
  return { kind: Kind.weighted, limit: 1_000_000, bucketMs: n * WINDOW_MS, buckets };
};
const log: LimitSpec = { kind: Kind.log, limit: 10_000, windowMs: WINDOW_MS };
const slots: LimitSpec = { kind: Kind.concurrency, limit: 1_000_000, timeoutMs: WINDOW_MS };
const bucket: LimitSpec = { kind: Kind.bucket, limit: 100, windowMs: WINDOW_MS, burst: 100, maxDelayMs: 0 };
const eight = (buckets: number) => Array.from({ length: 8 }, (_, n) => window(buckets, n + 1));

interface Case {
  readonly title: string;
  readonly limits: readonly LimitSpec[];
  /** The number of takes for each key, or of entries in its log, or of its slots. */
  readonly takes: number;
  /** Needs several times the memory of an ordinary key. */
  readonly isHeavy?: true;
}
const cases: readonly Case[] = [
  { title: "1 window of 1 bucket", limits: [window(1)], takes: 2 },
  { title: "1 token bucket", limits: [bucket], takes: 2 },
  { title: "8 windows of 60 buckets", limits: eight(60), takes: 2, isHeavy: true },
  { title: "a log of 1 entry", limits: [log], takes: 1 },
  { title: "a log of 10,000 entries", limits: [log], takes: 10_000, isHeavy: true },
  { title: "1 slot", limits: [slots], takes: 1 },
  { title: "1,000 slots", limits: [slots], takes: 1_000 },
  { title: "10,000 slots", limits: [slots], takes: 10_000, isHeavy: true },
];

const heapBytes = () => collected().heapUsed;

function fill(counts: Counts, from: number, to: number, { limits, takes }: Case): void {
  for (let i = from; i < to; i++) {
    const key = `hg:2:{passing:${String(i).padStart(22, "0")}}`;
    const request = (slot: number) => ({ keys: [{ key, group: ENFORCED, cost: 1, limits }], flag: Flag.take, slot });
    const asks = takes > 2 ? 1 : takes;
    for (let n = 0; n < asks; n++) counts.take(request(n + 1), NOW_MS + n * WINDOW_MS);
    // Write the rest at once: adding entries one by one would copy them 10,000 times.
    if (takes === asks) continue;
    const all = Array.from({ length: takes }, (_, n) => n);
    if (limits[0] === log) {
      counts.write(
        limitKeyOf(key, log),
        all.map((n) => ({ atMs: NOW_MS + n, cost: 1 })),
      );
    } else {
      counts.write(limitKeyOf(key, slots), new Map(all.map((n) => [2 ** 52 + i * takes + n, NOW_MS + WINDOW_MS + n])));
    }
  }
}

function bytesOfKey(one: Case): number {
  const [few, many] = one.takes > 2 ? [2, 10] : [500, 4_500];
  const kept: Counts[] = [];
  const heapOf = (keys: number) => {
    const before = heapBytes();
    const counts = createCounts(10 * MAX_KEYS);
    fill(counts, 0, keys, one);
    kept.push(counts);
    return heapBytes() - before;
  };
  heapOf(few); // compiled code and caches
  const bytes = heapOf(few);
  return (heapOf(many) - bytes) / (many - few);
}

/** The largest heap, in MiB, while this many keys come one after another. */
function largestHeap(one: Case, keys: number): number {
  const startBytes = heapBytes();
  const counts = createCounts(MAX_KEYS);
  let largest = 0;
  for (let tenth = 0; tenth < 10; tenth++) {
    fill(counts, Math.floor((tenth * keys) / 10), Math.floor(((tenth + 1) * keys) / 10), one);
    largest = Math.max(largest, heapBytes() - startBytes);
  }
  return largest / MIB;
}

console.log("| each key | bytes | keys | largest MiB |\n|---|---|---|---|");
for (const one of cases.filter(({ isHeavy }) => isHeavy || !quick)) {
  const bytes = bytesOfKey(one);
  // Enough keys to fill both generations several times.
  const keys = Math.ceil((quick ? 3 : 6) * Math.min(MAX_KEYS, (MAX_KEYS * 1024) / bytes));
  const mib = largestHeap(one, keys);
  console.log(`| ${one.title} | ${bytes.toFixed(0)} | ${keys} | ${mib.toFixed(1)} |`);
  if (mib > BOUND_MIB) process.exitCode = 1;
}
