/**
 * What a decision costs the Durable Object, in µs: its `take` beside the `take` of a store in memory and the bare write
 * of the same rows, in one workerd and in turns. The target: at most twice the sum of both.
 *
 *   npm run bench:object -- --quick
 */

import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";
import { Kind } from "../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../src/kernel/core/algorithms.ts";
import { limitOf } from "./support/commands.ts";
import { describeMachine } from "./support/machine.ts";
import type { ObjectCase, ObjectTurn } from "./support/object-case.ts";
import { median } from "./support/stats.ts";

const quick = process.argv.includes("--quick");
const TURNS = quick ? 5 : 25;
/** The first turns do not count: the JIT compiler runs. */
const WARM_UP = quick ? 2 : 5;
const TARGET = 2;

const bundled = await build({
  entryPoints: [new URL("object.worker.ts", import.meta.url).pathname],
  ...{ bundle: true, format: "esm", target: "es2024", external: ["cloudflare:*"], write: false },
});
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    modules: [{ type: "ESModule", path: "worker.js", contents: bundled.outputFiles![0]!.text }],
    compatibilityDate: "2026-10-01",
    cf: false,
    durableObjects: { COUNTS: { className: "Counts", useSQLite: true } },
  } as V4MiniflareOptions),
);

async function measure(one: Omit<ObjectCase, "turns">): Promise<ObjectTurn[]> {
  const body = JSON.stringify({ ...one, turns: WARM_UP + TURNS } satisfies ObjectCase);
  const response = await miniflare.dispatchFetch("http://bench/", { method: "POST", body });
  if (!response.ok) throw new Error(`object: ${await response.text()}`);
  return ((await response.json()) as ObjectTurn[]).slice(WARM_UP);
}

function ratioOf(turns: readonly ObjectTurn[]): number {
  return median(turns.map(({ objectUs, memoryUs, writeUs }) => objectUs / (memoryUs + writeUs)));
}

type Case = Pick<ObjectCase, "limits" | "keys" | "fill" | "stepMs"> & { readonly takes?: number };
const PLENTY = 1_000_000;
const KEYS = 100;
const known = (...limits: readonly LimitSpec[]): Case => ({ limits, keys: KEYS, fill: KEYS });
const windows = (count: number) => Array.from({ length: count }, (_, i) => limitOf.weighted(PLENTY, i + 1));
/** A full log: with every take one entry expires and one comes. */
const log = (entries: number): Case => {
  const limit = { kind: Kind.log, limit: entries, windowMs: entries } as const;
  return { limits: [limit], keys: 1, fill: entries, stepMs: 1, takes: 400 };
};

const cases: readonly (readonly [title: string, one: Case])[] = [
  ["sliding-window", known(...windows(1))],
  ["3 sliding windows", known(...windows(3))],
  ["8 sliding windows", known(...windows(8))],
  ["sliding-window, 10 buckets", known(limitOf.weighted10(PLENTY))],
  ["sliding-window, a new key each time", { limits: windows(1), keys: "new", fill: 0 }],
  ["fixed-window", known(limitOf.fixed(PLENTY))],
  ["token-bucket, leaky-bucket", known(limitOf.bucket(PLENTY))],
  ["concurrency", known(limitOf.concurrency(PLENTY))],
  ["sliding-log, 100 entries", log(100)],
  ["sliding-log, 1,000 entries", log(1_000)],
  ["sliding-log, 10,000 entries", log(10_000)],
];

try {
  console.log(`${await describeMachine()}; medians of ${TURNS} turns\n`);
  console.log("| Admitted | object, µs | memory store, µs | bare write, µs | ratio | ratio, a commit for each |");
  console.log("|---|---|---|---|---|---|");
  let worst = 0;
  for (const [title, { takes = 2_000, ...one }] of cases) {
    const shared = await measure({ ...one, takes, isDurable: false });
    const durable = await measure({ ...one, takes: 100, isDurable: true });
    const us = (["objectUs", "memoryUs", "writeUs"] as const).map((part) => median(shared.map((turn) => turn[part])));
    const ratios = [ratioOf(shared), ratioOf(durable)];
    worst = Math.max(worst, ...ratios);
    console.log(
      `| ${[title, ...us.map((one) => one.toFixed(1)), ...ratios.map((one) => one.toFixed(2))].join(" | ")} |`,
    );
  }
  console.log(`\nTarget: at most ${TARGET}. The largest ratio is ${worst.toFixed(2)}.`);
} finally {
  await miniflare.dispose();
}
