// The pictures of docs/algorithms.md are the ones that the script draws from the current code.

import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { pictures, twoBursts } from "../../scripts/docs/draw-algorithms.ts";
import type { LimitInput } from "../../src/kernel/config/policy-input.ts";
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

const WINDOW = { limit: 50, window: "10s" } as const;
/** By the first cell of a line of the table of two bursts, with what its formula gives. */
const AT_A_BOUNDARY: Readonly<Record<string, readonly [limit: LimitInput, total: number]>> = {
  "fixed-window": [{ algorithm: "fixed-window", ...WINDOW }, 2 * 50],
  "sliding-window": [WINDOW, 50 + 50 * 0.1],
  "sliding-window, 10 buckets": [{ ...WINDOW, buckets: 10 }, 50],
  'sliding-window, 10 buckets, oldest = "whole"': [{ ...WINDOW, buckets: 10, oldest: "whole" }, 50],
  "sliding-log": [{ algorithm: "sliding-log", ...WINDOW }, 50],
  "token-bucket": [{ algorithm: "token-bucket", ...WINDOW }, 50 + 50 * 0.2],
};

it("two bursts at a boundary are admitted as the page shows: `npm run docs:algorithms`", async () => {
  const [shown] = blocksOf("docs/algorithms.md", "");
  expect(shown!.text).toBe(await twoBursts());
  const [, ...lines] = shown!.text.trimEnd().split("\n");
  const rows = lines.map((line) => /^(.+?) {2,}(\d+) +(\d+) +(\d+) = /.exec(line)!.slice(1));
  expect(rows.map(([name]) => name)).toEqual(Object.keys(AT_A_BOUNDARY));

  // The script runs the core alone. This is the whole limiter.
  for (const [name, ...cells] of rows) {
    const [limit, total] = AT_A_BOUNDARY[name!]!;
    const store = memoryStore();
    let nowMs = 0;
    const limiter = createLimiter({
      policies: [{ name: "p", key: "global", limits: [limit] }],
      store: { ...store, take: (request) => store.take(request, nowMs) },
    });
    const admitted = [0, 0];
    for (const [burst, sinceBoundaryMs] of [-1_000, 1_000].entries()) {
      nowMs = 1_800_000_000_000 + sinceBoundaryMs;
      for (let n = 0; n < 50; n++) if ((await limiter.take("p")).allowed) admitted[burst]!++;
    }
    expect([name, ...cells.map(Number)]).toEqual([name, ...admitted, total]);
    expect(admitted[0]! + admitted[1]!).toBe(total);
  }
});

it.each([
  {
    limit: 60,
    windowMs: 60_000,
    unitMs: 1_000,
    told: "from 1 to 61 s with 60 per minute",
    pages: ["docs/algorithms.md"],
  },
  {
    ...{ limit: 5, windowMs: 3_600_000, unitMs: 60_000, told: "[12 to 72 minutes]" },
    pages: ["express-rate-limit", "hono-rate-limiter", "rate-limiter-flexible"].map(
      (name) => `docs/migrate/${name}.md`,
    ),
  },
])("a client that has used its limit at once waits as the pages say: $told", async ({ limit, windowMs, ...page }) => {
  const waitOf = async (atMs: number) => {
    const limiter = createLimiter({
      policies: [{ name: "p", key: "global", limits: [{ limit, window: `${windowMs}ms` }] }],
      store: storeAt(memoryStore(), fakeClock(Math.ceil(1_800_000_000_000 / windowMs) * windowMs + atMs)),
    });
    for (let n = 0; n < limit; n++) expect((await limiter.take("p")).allowed).toBe(true);
    return (await limiter.take("p")).retryAfterMs;
  };
  const [least, most] = /(\d+) to (\d+)/
    .exec(page.told)!
    .slice(1)
    .map((number) => Number(number) * page.unitMs);
  expect([await waitOf(windowMs - 1), await waitOf(0)]).toEqual([least! + 1, most]);
  for (const path of page.pages) expect(read(path)).toContain(page.told);
});
