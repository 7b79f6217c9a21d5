// The pictures of docs/algorithms.md are the ones that the script draws from the current code.

import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { LIMIT, WINDOW_MS } from "../../scripts/docs/boundary-definitions.ts";
import { pictures } from "../../scripts/docs/draw-algorithms.ts";
import type { LimitInput } from "../../src/config/policy-input.ts";
import { createLimiter } from "../../src/limiter.ts";
import { memoryStore } from "../../src/store/memory.ts";
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

const WINDOW = { limit: LIMIT, window: `${WINDOW_MS}ms` } as const;
/** By the first cell of a line that `npm run demo:boundary` prints. */
const AT_A_BOUNDARY: Readonly<Record<string, LimitInput>> = {
  "fixed-window": { algorithm: "fixed-window", ...WINDOW },
  "sliding-window, 1 bucket": WINDOW,
  "sliding-window, 10 buckets": { ...WINDOW, buckets: 10 },
  'sliding-window, oldest = "whole"': { ...WINDOW, buckets: 10, oldest: "whole" },
  "sliding-log": { algorithm: "sliding-log", ...WINDOW },
  "token-bucket": { algorithm: "token-bucket", ...WINDOW },
};

it("two bursts at a boundary are admitted as the page shows", async () => {
  const [printed] = blocksOf("docs/algorithms.md", "");
  const [, ...lines] = printed!.text.trimEnd().split("\n");
  const rows = lines.map((line) => /^(.+?) {2,}(\d+) +(\d+) +(\d+) +(.*)$/.exec(line)!.slice(1));
  expect(rows.map(([name]) => name)).toEqual(Object.keys(AT_A_BOUNDARY));
  // The instants that the formulas of that run name: since the boundary, and since the first burst.
  const numbers = rows.flatMap(([, , , , formula]) => / \* (\d+) \/ 10000\)/.exec(formula!)?.[1] ?? []).map(Number);
  const [sinceBoundaryMs, betweenMs] = numbers as [number, number];
  const boundaryMs = 1_800_000_000_000;
  const burstsAtMs = [boundaryMs + sinceBoundaryMs - betweenMs, boundaryMs + sinceBoundaryMs];

  for (const [name, ...cells] of rows) {
    const store = memoryStore();
    let nowMs = 0;
    const limiter = createLimiter({
      policies: [{ name: "p", key: "global", limits: [AT_A_BOUNDARY[name!]!] }],
      store: { ...store, take: (request) => store.take(request, nowMs) },
    });
    const admitted = [0, 0];
    for (const [burst, atMs] of burstsAtMs.entries()) {
      nowMs = atMs;
      for (let n = 0; n < LIMIT; n++) if ((await limiter.take("p")).allowed) admitted[burst]!++;
    }
    const [before, after, both, expected] = cells;
    expect([name, ...admitted]).toEqual([name, Number(before), Number(after)]);
    expect(both).toBe(String(admitted[0]! + admitted[1]!));
    expect(expected).toMatch(new RegExp(`^${both} = `));
  }
});

it.each([
  {
    limit: 60,
    windowMs: 60_000,
    unitMs: 1_000,
    told: "from 1 to 61 s under 60 per minute",
    pages: ["docs/algorithms.md"],
  },
  { limit: 60, windowMs: 60_000, unitMs: 1_000, told: "1 to 61 s by the clock's minute", pages: ["README.md"] },
  {
    ...{ limit: 5, windowMs: 3_600_000, unitMs: 60_000, told: "after all 5 at once in [12 to 72 minutes]" },
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
