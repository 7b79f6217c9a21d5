// The pictures of docs/algorithms.md are the ones that the script draws from the current code.

import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { pictures, twoBursts } from "../../scripts/docs/draw-algorithms.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { createLimiter } from "../../src/limiter.ts";
import { fakeClock, storeAt } from "../../src/testing/clock.ts";
import { blocksOf, read } from "./markdown.ts";

const FOLDER = new URL("../../docs/algorithms/", import.meta.url);
const drawn = await pictures();

it("every committed picture is the one that is drawn now: `npm run docs:algorithms`", () => {
  const committed = readdirSync(FOLDER).map((file) => [file, readFileSync(new URL(file, FOLDER), "utf8")]);
  expect(Object.fromEntries(committed)).toEqual(
    Object.fromEntries([...drawn].map(([name, svg]) => [`${name}.svg`, svg])),
  );
});

it("the page shows every picture, and no other", () => {
  const page = readFileSync(new URL("../algorithms.md", FOLDER), "utf8");
  const shown = [...page.matchAll(/\]\(algorithms\/([\w-]+)\.svg\)/g)].map(([, name]) => name);
  expect(shown.sort()).toEqual([...drawn.keys()].sort());
});

it("a picture is at most 12 KB", () => {
  for (const [name, svg] of drawn) expect(Buffer.byteLength(svg), name).toBeLessThanOrEqual(12 * 1024);
});

it("the text of a picture has 11 px on a phone, where a page is 342 px wide", () => {
  const others = ["docs/overview.svg", "bench/results/latency.svg"].map((path) => [path, read(path)] as const);
  for (const [name, svg] of [...drawn, ...others]) {
    const [, width] = / width="(\d+)"/.exec(svg)!;
    const sizes = [...svg.matchAll(/font(?:-size)?:(\d+)px/g)].map(([, size]) => Number(size));
    expect((Math.min(...sizes) * 342) / Math.max(342, Number(width)), name).toBeGreaterThanOrEqual(11);
  }
});

it("the most that one window holds is what each algorithm promises", () => {
  const worst = new Map([...drawn].map(([name, svg]) => [name, Number(/worst 10 s: (\d+)/.exec(svg)?.[1])]));
  expect(Object.fromEntries(worst)).toEqual({
    "fixed-window": 100, // 2 * limit
    "sliding-window": 99, // 2 * limit - 1
    "sliding-window-10": 99,
    "sliding-window-whole": 50, // limit
    "sliding-log": 50,
    "token-bucket": 99, // burst + limit - 1: the last unit comes back as the window ends
    "leaky-bucket": 59,
    concurrency: Number.NaN,
  });
});

/** By the first cell of a line of the table of two bursts, what its formula gives. */
const TOTALS: Readonly<Record<string, number>> = {
  "fixed-window": 2 * 50,
  "sliding-window": 50 + 50 * 0.1,
  "sliding-window, 10 buckets": 50,
  'sliding-window, 10 buckets, oldest = "whole"': 50,
  "sliding-log": 50,
  "token-bucket": 50 + 50 * 0.2,
};

it("two bursts at a boundary are admitted as the page shows: `npm run docs:algorithms`", async () => {
  const [shown] = blocksOf("docs/algorithms.md", "");
  expect(shown!.text).toBe(await twoBursts());
  const [, ...lines] = shown!.text.trimEnd().split("\n");
  const rows = lines.map((line) => /^(.+?) {2,}(\d+) +(\d+) +(\d+) = /.exec(line)!.slice(1));
  expect(rows.map(([name]) => name)).toEqual(Object.keys(TOTALS));
  for (const [name, before, after, total] of rows) {
    expect([name, Number(before) + Number(after), Number(total)]).toEqual([name, ...Array(2).fill(TOTALS[name!])]);
  }
});

const MIGRATE = ["express-rate-limit", "hono-rate-limiter", "rate-limiter-flexible"];
it.each<[told: string, limit: number, windowMs: number, unitMs: number, pages: string[]]>([
  ["from 1 to 61 s with 60 per minute", 60, 60_000, 1_000, ["docs/algorithms.md"]],
  ["[12 to 72 minutes]", 5, 3_600_000, 60_000, MIGRATE.map((name) => `docs/migrate/${name}.md`)],
])(
  "a client that has used its limit at once waits as the pages say: %s",
  async (told, limit, windowMs, unitMs, pages) => {
    const waitOf = async (atMs: number) => {
      const limiter = createLimiter({
        policies: [{ name: "p", key: "global", limits: [{ limit, window: `${windowMs}ms` }] }],
        store: storeAt(memoryStore(), fakeClock(Math.ceil(1_800_000_000_000 / windowMs) * windowMs + atMs)),
      });
      for (let n = 0; n < limit; n++) expect((await limiter.take("p")).allowed).toBe(true);
      return (await limiter.take("p")).retryAfterMs;
    };
    const numbers = /(\d+) to (\d+)/.exec(told)!.slice(1);
    const [least, most] = numbers.map((number) => Number(number) * unitMs);
    expect([await waitOf(windowMs - 1), await waitOf(0)]).toEqual([least! + 1, most]);
    for (const path of pages) expect(read(path)).toContain(told);
  },
);
