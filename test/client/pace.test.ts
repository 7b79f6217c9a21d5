// How a client slows down before it is refused.

import { describe, expect, it } from "vitest";
import type { Rule } from "../../src/client/fields.ts";
import { createBackoff, fetchWithBackoff } from "../../src/client/index.ts";
import { type Call, createPace } from "../../src/client/pace.ts";
import { answer, scripted, URL_OF_API } from "./scripted.ts";

const told = (remaining: number, seconds: number, quota = 10, windowS = 10) =>
  answer(200, { RateLimit: `"a";r=${remaining};t=${seconds}`, "RateLimit-Policy": `"a";q=${quota};w=${windowS}` });

/** The waits of one client's calls, made one after the other, with random draws of 0. */
async function waitsOf(answers: Parameters<typeof scripted>[0], paths: readonly string[], timeBudgetMs = 60_000) {
  const { options, waitsMs, sent } = scripted(answers);
  const fetchPaced = createBackoff({ ...options, timeBudgetMs });
  for (const path of paths) await fetchPaced(new URL(path, URL_OF_API));
  return { waitsMs, sent };
}

it.each([
  ["many are left: no wait", told(3, 6), []],
  ["2 of 10 are left: they are spread over the 6 s, for the seven tenths that strangers have used", told(2, 6), [1400]],
  ["1 is left", told(1, 6), [2400]],
  ["none is left: all of it", told(0, 6), [6000]],
  ["a longer window", told(20, 63, 100, 60), [2370]],
  ["no quota told: 2 are few", answer(200, { RateLimit: '"a";r=2;t=6' }), [1400]],
  ["no quota told: 3 are not", answer(200, { RateLimit: '"a";r=3;t=6' }), []],
  ["nothing told of when", answer(200, { RateLimit: '"a";r=0' }), []],
  [
    "X- fields",
    answer(200, { "X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "6" }),
    [2400],
  ],
  ["two limits: the longer wait", answer(200, { RateLimit: '"a";r=1;t=6, "b";r=0;t=4' }), [4000]],
])("%s", async (_what, one, expected) => {
  expect((await waitsOf([one, told(9, 1)], ["/", "/"])).waitsMs).toEqual(expected);
});

describe.each([
  ["createBackoff", () => createBackoff()],
  ["fetchWithBackoff", () => fetchWithBackoff],
])("a client that has used up the limit by itself waits exactly as told: %s", (_name, make) => {
  const refused = answer(429, { "Retry-After": "6", RateLimit: '"a";r=0;t=6', "RateLimit-Policy": '"a";q=3;w=10' });
  const plain = answer(429, { "Retry-After": "6" });
  /** The waits of calls in turn, with the largest random draws. `quietMs` passes before the last call. */
  async function waitsInTurn(answers: Parameters<typeof scripted>[0], calls: number, quietMs = 0) {
    const { options, waitsMs } = scripted(answers, () => 0.99);
    const fetchOne = make();
    for (let i = 1; i < calls; i++) await fetchOne(URL_OF_API, undefined, options);
    const now = () => options.now() + quietMs;
    await fetchOne(URL_OF_API, undefined, { ...options, now });
    return waitsMs;
  }

  it("also when few units are left", async () => {
    expect(await waitsInTurn([told(2, 6, 3), told(1, 6, 3), told(0, 0, 3), refused, told(2, 6, 3)], 4)).toEqual([6000]);
  });

  it("if only refusals tell anything, after as many calls as are assumed for a quota", async () => {
    expect(await waitsInTurn([...Array.from({ length: 10 }, () => answer(200)), plain, answer(200)], 11)).toEqual([
      6000,
    ]);
  });

  it("but not if its calls were longer ago than the limit counts", async () => {
    const [waitMs] = await waitsInTurn(
      [told(2, 6, 3), told(1, 6, 3), told(0, 0, 3), refused, told(2, 6, 3)],
      4,
      60_000,
    );
    expect(waitMs).toBeGreaterThan(6000);
  });

  it("nor after a refusal although it had waited", async () => {
    const answers = [told(2, 6, 3), told(1, 6, 3), told(0, 0, 3), refused, refused, told(2, 6, 3)];
    const [first, second] = await waitsInTurn(answers, 4);
    expect(first).toBe(6000);
    expect(second).toBeGreaterThan(6000);
  });
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
  const { ask, tell } = calls();
  const at = (i: number) => `https://${i}.example`;
  for (let i = 0; i < 1000; i++) tell(ask(at(i)), { remaining: 0, afterMs: 1000 });
  const held = Array.from({ length: 1000 }, (_, i) => ask(at(i)).waitMs > 0);
  expect(held.slice(0, 900).some(Boolean)).toBe(false);
  expect(held.slice(-50).every(Boolean)).toBe(true);
});

const WINDOW = { quota: 10, windowMs: 1000 };

describe("calls of one client", () => {
  it("go as far as units are known to be left, those in flight counted", () => {
    const { ask, tell } = calls();
    tell(ask(), { remaining: 3, afterMs: 1000, ...WINDOW });
    expect([ask(), ask(), ask(), ask()].map(({ waitMs }) => waitMs)).toEqual([0, 0, 0, 1000]);
  });

  it("with nothing left one asks when there should be more, and the others look for its answer", () => {
    const { ask, again, tell } = calls();
    tell(ask(), { remaining: 0, afterMs: 1000, ...WINDOW });
    const all = [ask(), ask(), ask(), ask()];
    expect(all.map(({ waitMs }) => waitMs)).toEqual([1000, 1000, 1000, 1000]);
    const waits = () => all.map((one) => again(one, 1000));
    const [first, ...others] = waits();
    expect(first).toBe(0);
    expect(others.every((waitMs) => waitMs > 0 && waitMs < 30)).toBe(true);
    tell(all.shift()!, { remaining: 2, afterMs: 1000, ...WINDOW }, 1010);
    expect(all.map((one) => again(one, 1010))).toEqual([0, 0, 1000]);
  });

  it("ask one by one while the answer is late, at the rate of the limit at least", () => {
    const { ask, again, tell } = calls();
    tell(ask(), { remaining: 0, afterMs: 1000, ...WINDOW });
    const all = Array.from({ length: 12 }, () => ask());
    const goesAt = (one: Asked) => {
      for (let nowMs = 1000; ; nowMs++) if (again(one, nowMs) <= 0) return nowMs;
    };
    expect(all.slice(0, 3).map(goesAt)).toEqual([1000, 1100, 1200]);
  });

  it("are not misled by answers that come in another order than they were given", () => {
    const { ask, tell } = calls();
    const burst = Array.from({ length: 5 }, () => ask());
    for (const remaining of [1, 0, 4, 3, 2]) tell(burst.pop()!, { remaining, afterMs: 1000, ...WINDOW });
    expect(ask().waitMs).toBe(1000);
  });

  it("are never sent before they were told, whatever another answer says", () => {
    const { ask, again, tell } = calls();
    const [refused, other] = [ask(), ask()];
    tell(refused, { remaining: 0, afterMs: 5000, ...WINDOW }, 0, 0);
    refused.call.notBefore = 5000;
    tell(other, { remaining: 9, afterMs: 1000, ...WINDOW }, 10);
    expect(again(refused, 10)).toBe(4990);
  });
});

describe("a limit on requests in flight", () => {
  const SLOTS = { quota: 5, isConcurrent: true };

  it("as many go at a time as were admitted together, and one when one of them has ended", () => {
    const { ask, again, tell } = calls();
    const burst = Array.from({ length: 4 }, () => ask());
    // Two of the four calls were refused: other clients have the rest of the slots.
    const refused = [burst.pop()!, burst.pop()!];
    for (const one of refused) tell(one, { remaining: 0, afterMs: 1000, ...SLOTS }, 0, 0);
    expect(refused.map((one) => again(one, 1000) > 0)).toEqual([true, true]);
    tell(burst.pop()!, { remaining: 0, ...SLOTS }, 1000);
    expect(refused.map((one) => again(one, 1000) > 0)).toEqual([false, true]);
  });
});

it("a call far back in line waits until its time budget ends, and is not sent early", () => {
  const { ask, tell } = calls();
  tell(ask(), { remaining: 0, quota: 1, isConcurrent: true });
  expect(ask().waitMs).toBe(0);
  const waits = Array.from({ length: 2000 }, () => ask().waitMs);
  expect(Math.min(...waits)).toBeGreaterThan(0);
  expect(Math.max(...waits)).toBe(60_000);
});

interface Asked {
  readonly call: Call;
  readonly waitMs: number;
}

/** Calls that share one pace, at instant 0 unless they name another. */
function calls() {
  const pace = createPace();
  return {
    ask(origin = "https://a.example"): Asked {
      const call: Call = { site: origin, origin, path: `GET ${origin}`, endsAt: 60_000, notBefore: 0 };
      return { call, waitMs: pace.waitMs(call, 0) };
    },
    again: ({ call }: Asked, nowMs: number) => pace.waitMs(call, nowMs),
    tell({ call }: Asked, rule: Omit<Rule, "name">, nowMs = 0, refusedMs?: number) {
      pace.answered(call, [{ name: "a", ...rule }], nowMs, 0, refusedMs);
    },
  };
}
