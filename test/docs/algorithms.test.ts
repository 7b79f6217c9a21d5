// The pictures of docs/algorithms.md are the ones that the script draws from the current code.

import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { pictures } from "../../scripts/docs/draw-algorithms.ts";

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
