/**
 * `npm run docs:algorithms`: draws the pictures of docs/algorithms.md from runs of the algorithms, and prints its table
 * of two bursts at a boundary. Every run gives the same bytes; a test compares them with the committed files.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { draw } from "./algorithm-picture.ts";
import {
  BURSTS_MS,
  FROM_MS,
  type Run,
  runAtBoundary,
  runInFlight,
  TO_MS,
  WINDOW_MS,
  WORST_MS,
} from "./algorithm-runs.ts";

const OUTPUT = new URL("../../docs/algorithms/", import.meta.url);
const LIMIT = 50;
/** The lower panel shows the largest value of each span of this many ms. */
const SAMPLE_MS = 100;

const window = { limit: LIMIT, window: `${WINDOW_MS}ms` } as const;
/** The limits of the pictures. `bursts`: how many of two bursts are admitted, as a formula. */
const AT_BOUNDARY = [
  {
    name: "fixed-window",
    title: "fixed-window",
    limit: { algorithm: "fixed-window", ...window },
    bursts: "2 * limit",
  },
  {
    name: "sliding-window",
    title: "sliding-window",
    limit: { algorithm: "sliding-window", ...window },
    bursts: "limit + limit * 1 s / 10 s",
  },
  {
    name: "sliding-window-10",
    title: "sliding-window, 10 buckets",
    limit: { algorithm: "sliding-window", ...window, buckets: 10 },
    bursts: "limit",
  },
  {
    name: "sliding-window-whole",
    title: 'sliding-window, 10 buckets, oldest = "whole"',
    limit: { algorithm: "sliding-window", ...window, buckets: 10, oldest: "whole" },
    bursts: "limit",
  },
  {
    name: "sliding-log",
    title: "sliding-log",
    limit: { algorithm: "sliding-log", ...window },
    bursts: "limit",
  },
  {
    name: "token-bucket",
    title: "token-bucket",
    limit: { algorithm: "token-bucket", ...window },
    bursts: "limit + limit * 2 s / 10 s",
  },
  {
    // It holds requests, so a burst that it admits does not reach the origin as a burst.
    name: "leaky-bucket",
    title: 'leaky-bucket, burst = 10, maxDelay = "4s"',
    limit: { algorithm: "leaky-bucket", ...window, burst: 10, maxDelay: "4s" },
  },
] as const;

/** Maps each file's name without `.svg` to its text. */
export async function pictures(): Promise<Map<string, string>> {
  const drawn = new Map<string, string>();
  for (const { name, title, limit } of AT_BOUNDARY) {
    drawn.set(name, drawAtBoundary(title, await runAtBoundary(limit, WORST_MS)));
  }
  drawn.set("concurrency", await drawInFlight());
  return drawn;
}

/** What each algorithm admits of two bursts, as lines of text. */
export async function twoBursts(): Promise<string> {
  const lines = ["admitted in the burst                         before  after   both"];
  for (const row of AT_BOUNDARY) {
    if (!("bursts" in row)) continue;
    const { admittedMs } = await runAtBoundary(row.limit, BURSTS_MS);
    const before = admittedMs.filter((ms) => ms < 0).length;
    const counts = [before, admittedMs.length - before, admittedMs.length];
    const cells = counts.map((count) => String(count).padStart(7)).join("");
    lines.push(`${row.title.padEnd(45)}${cells} = ${row.bursts}`);
  }
  return `${lines.join("\n")}\n`;
}

function drawAtBoundary(title: string, { askedMs, admittedMs, held }: Run): string {
  const worst = worstWindow(admittedMs);
  const bars = held > 0 ? "reaching the origin, per second" : "admitted per second";
  return draw({
    title,
    description:
      `50 requests in the last millisecond before a window boundary, then 50 a second. ` +
      `The window of 10 s with the most admitted ones holds ${worst.count}.`,
    fromMs: FROM_MS,
    toMs: TO_MS,
    askedMs,
    admittedMs,
    bars: `${bars} (outline: asked)`,
    steps: inLastWindow(admittedMs),
    quantity: `the same, in the last 10 s (red: limit ${LIMIT})`,
    limit: LIMIT,
    max: 2 * LIMIT,
    span: { fromMs: worst.fromMs, toMs: worst.fromMs + WINDOW_MS, label: `worst 10 s: ${worst.count}` },
  });
}

/** The window that holds the most requests. It begins with an admitted request. */
function worstWindow(admittedMs: readonly number[]): { fromMs: number; count: number } {
  return admittedMs
    .map((fromMs) => ({ fromMs, count: admittedMs.filter((ms) => ms >= fromMs && ms - fromMs < WINDOW_MS).length }))
    .reduce((a, b) => (b.count > a.count ? b : a));
}

function inLastWindow(admittedMs: readonly number[]): [ms: number, count: number][] {
  const counts: [number, number][] = [];
  for (let ms = FROM_MS; ms < TO_MS; ms += SAMPLE_MS) {
    const at = (nowMs: number) => admittedMs.filter((past) => past <= nowMs && nowMs - past < WINDOW_MS).length;
    // The count grows only at an admission.
    const instants = [ms, ...admittedMs.filter((past) => past > ms && past < ms + SAMPLE_MS)];
    const count = Math.max(...instants.map(at));
    counts.push([ms, count]);
  }
  return counts;
}

async function drawInFlight(): Promise<string> {
  const limit = 5;
  const run = await runInFlight({ algorithm: "concurrency", limit, timeout: "10s" });
  const most = Math.max(...run.taken.map(([, slots]) => slots));
  return draw({
    title: `concurrency: ${limit} at a time, timeout = "10s"`,
    description:
      `Four requests a second of 2 s each. At ${run.lostMs / 1000} s two are lost without a release: their slots stay ` +
      `taken until ${run.freeMs / 1000} s. At most ${most} slots are taken at once.`,
    fromMs: FROM_MS,
    toMs: TO_MS,
    askedMs: run.askedMs,
    admittedMs: run.admittedMs,
    bars: "admitted per second (outline: asked)",
    steps: run.taken,
    part: run.inFlight,
    quantity: `slots taken (area: in use; red: limit ${limit})`,
    limit,
    max: limit + 1,
    span: { fromMs: run.lostMs, toMs: run.freeMs, label: "two slots lost" },
  });
}

if (import.meta.main) {
  mkdirSync(OUTPUT, { recursive: true });
  for (const [name, svg] of await pictures()) {
    writeFileSync(new URL(`${name}.svg`, OUTPUT), svg);
    console.log(`docs/algorithms/${name}.svg: ${svg.length} bytes`);
  }
  console.log(`\n${await twoBursts()}`);
}
