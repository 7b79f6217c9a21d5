/**
 * `npm run docs:algorithms`: draws the pictures of docs/algorithms.md from runs of the algorithms. Every run gives the
 * same bytes; a test compares them with the committed files.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { draw } from "./algorithm-picture.ts";
import { FROM_MS, type Run, runAtBoundary, runInFlight, TO_MS, WINDOW_MS } from "./algorithm-runs.ts";

const OUTPUT = new URL("../../docs/algorithms/", import.meta.url);
const LIMIT = 50;
/** The lower panel shows the largest value of each span of this many ms. */
const SAMPLE_MS = 100;

const window = { limit: LIMIT, window: `${WINDOW_MS}ms` } as const;
const AT_BOUNDARY = [
  ["fixed-window", "fixed-window", { algorithm: "fixed-window", ...window }],
  ["sliding-window", "sliding-window", { algorithm: "sliding-window", ...window }],
  ["sliding-window-10", "sliding-window, 10 buckets", { algorithm: "sliding-window", ...window, buckets: 10 }],
  [
    "sliding-window-whole",
    'sliding-window, 10 buckets, oldest = "whole"',
    { algorithm: "sliding-window", ...window, buckets: 10, oldest: "whole" },
  ],
  ["sliding-log", "sliding-log", { algorithm: "sliding-log", ...window }],
  ["token-bucket", "token-bucket", { algorithm: "token-bucket", ...window }],
  [
    "leaky-bucket",
    'leaky-bucket, burst = 10, maxDelay = "4s"',
    { algorithm: "leaky-bucket", ...window, burst: 10, maxDelay: "4s" },
  ],
] as const;

/** Maps each file's name without `.svg` to its text. */
export async function pictures(): Promise<Map<string, string>> {
  const drawn = new Map<string, string>();
  for (const [name, title, limit] of AT_BOUNDARY) {
    drawn.set(name, drawAtBoundary(`${title}: ${LIMIT} per 10 s`, await runAtBoundary(limit)));
  }
  drawn.set("concurrency", await drawInFlight());
  return drawn;
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
    bars: `${bars} (outline: asked; the first 50 come 1 ms before 0 s)`,
    steps: inLastWindow(admittedMs),
    quantity: "the same, in the last 10 s",
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
    bars: "admitted per second (outline: asked); each takes 2 s",
    steps: run.taken,
    part: run.inFlight,
    quantity: "slots taken (area: really in use)",
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
}
