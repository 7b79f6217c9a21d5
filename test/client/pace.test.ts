// How a client that remembers slows down before it is refused.

import { expect, it } from "vitest";
import { createBackoff } from "../../src/client/index.ts";
import { createMemory } from "../../src/client/pace.ts";
import { answer, scripted, URL_OF_API } from "./scripted.ts";

const told = (remaining: number, seconds: number, quota = 10, windowS = 10) =>
  answer(200, { RateLimit: `"a";r=${remaining};t=${seconds}`, "RateLimit-Policy": `"a";q=${quota};w=${windowS}` });

/** The waits of calls, one after the other, of one client that draws 0. */
async function waitsOf(answers: Parameters<typeof scripted>[0], paths: readonly string[], timeBudgetMs = 60_000) {
  const { options, waitsMs, sent } = scripted(answers);
  const fetchPaced = createBackoff({ ...options, timeBudgetMs });
  for (const path of paths) await fetchPaced(new URL(path, URL_OF_API));
  return { waitsMs, sent };
}

it.each([
  ["many are left: no wait", told(3, 6), []],
  ["2 of 10 are left: they are spread over the 6 s", told(2, 6), [2000]],
  ["1 is left", told(1, 6), [3000]],
  ["none is left: all of it", told(0, 6), [6000]],
  ["a longer window", told(20, 63, 100, 60), [3000]],
  ["no quota told: 2 are few", answer(200, { RateLimit: '"a";r=2;t=6' }), [2000]],
  ["no quota told: 3 are not", answer(200, { RateLimit: '"a";r=3;t=6' }), []],
  ["nothing told of when", answer(200, { RateLimit: '"a";r=0' }), []],
  [
    "X- fields",
    answer(200, { "X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "6" }),
    [3000],
  ],
  ["two limits: the longer wait", answer(200, { RateLimit: '"a";r=1;t=6, "b";r=0;t=4' }), [4000]],
])("%s", async (_what, one, expected) => {
  expect((await waitsOf([one, told(9, 1)], ["/", "/"])).waitsMs).toEqual(expected);
});

it("a turn beyond the time budget is not waited for", async () => {
  const { waitsMs, sent } = await waitsOf([told(0, 61)], ["/", "/"]);
  expect([waitsMs, sent.length]).toEqual([[], 2]);
});

it("limits that a path is known not to have do not slow it down; a new path has those that were told last", async () => {
  const login = told(0, 30);
  const { waitsMs } = await waitsOf(
    [answer(200, { RateLimit: '"site";r=50;t=1' }), login, told(9, 1)],
    ["/", "/login", "/"],
  );
  expect(waitsMs).toEqual([]);
  expect((await waitsOf([login, told(9, 1)], ["/items/1", "/items/2"])).waitsMs).toEqual([30_000]);
});

it("another origin has other limits", async () => {
  expect((await waitsOf([told(0, 6)], ["/", "https://other.example/"])).waitsMs).toEqual([]);
});

it("two clients know nothing of each other", async () => {
  const { options, waitsMs } = scripted([told(0, 6)]);
  await createBackoff(options)(URL_OF_API);
  await createBackoff(options)(URL_OF_API);
  expect(waitsMs).toEqual([]);
});

it("remembers 100 limits and paths, and forgets the oldest", () => {
  const memory = createMemory();
  const route = (i: number) => ({ origin: `https://${i}.example`, path: `GET https://${i}.example/` });
  const rule = { name: "a", remaining: 0, afterMs: 1000 };
  for (let i = 0; i < 1000; i++) memory.note(route(i), [rule], 0);
  const held = Array.from({ length: 1000 }, (_, i) => memory.turn(route(i), 0, 5000).afterMs > 0);
  expect(held.slice(0, 900).some(Boolean)).toBe(false);
  expect(held.slice(-50).every(Boolean)).toBe(true);
});

it("takes turns apart by the time a unit takes, and forgets when what was told is over", () => {
  const memory = createMemory();
  const route = { origin: "https://a.example", path: "GET https://a.example/" };
  memory.note(route, [{ name: "a", remaining: 0, afterMs: 1000, quota: 10, windowMs: 1000 }], 0);
  const turns = [0, 0, 0].map((nowMs) => memory.turn(route, nowMs, 5000).afterMs);
  expect(turns).toEqual([1000, 1100, 1200]);
  expect([2000, 2000].map((nowMs) => memory.turn(route, nowMs, 5000).afterMs)).toEqual([0, 0]);
});
