// How long each form of the header fields makes a client wait, exactly. No text makes it wait less than it was told.

import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { rulesOf } from "../../src/client/fields.ts";
import { fetchWithBackoff } from "../../src/client/index.ts";
import { draws } from "../support/cases/draws.ts";
import { answer, NOW_MS, ok, scripted, URL_OF_API } from "./scripted.ts";

const inSeconds = (seconds: number) => new Date(NOW_MS + seconds * 1000);
const http = (seconds: number) => inSeconds(seconds).toUTCString();
const epoch = (seconds: number) => String(NOW_MS / 1000 + seconds);
const asctime = (date: Date) => {
  const [, day, d, month, year, time] = /(\w+), (\d+) (\w+) (\d+) ([\d:]+)/.exec(date.toUTCString())!;
  return `${day} ${month} ${d} ${time} ${year}`;
};

/** The first wait after a 429 with these fields, with random draws of 0. */
async function waitOf(headers: Record<string, string>, random = () => 0): Promise<number | undefined> {
  const { options, waitsMs } = scripted([answer(429, headers), ok], random);
  await fetchWithBackoff(URL_OF_API, undefined, { ...options, timeBudgetMs: Number.POSITIVE_INFINITY });
  return waitsMs[0];
}

/** Nothing is left until then. */
const xReset = (reset: string, remaining = "0") => {
  return { "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset };
};

/** The wait when the answer tells none. */
const GUESS_MS = 1000;

/** More digits than a JavaScript number can hold. */
const HUGE = "9".repeat(400);
const LONGEST_MS = 2 ** 53 - 1;

describe("Retry-After", () => {
  it.each([
    ["seconds", { "Retry-After": "7" }, 7000],
    ["parts of a second", { "Retry-After": "0.5" }, 500],
    ["several: the longest", { "Retry-After": "2, 9, 5" }, 9000],
    ["a date", { "Retry-After": http(30) }, 30_000],
    ["a date in the form of RFC 850", { "Retry-After": "Saturday, 21-Nov-26 04:48:23 GMT" }, 60_000],
    ["a date in the form of asctime", { "Retry-After": asctime(inSeconds(45)) }, 45_000],
    ["a date, by the server's clock, an hour ahead", { "Retry-After": http(3630), Date: http(3600) }, 30_000],
    ["a date that has passed", { "Retry-After": http(-30), ...xReset("9") }, undefined],
    ["comes before what the other fields say", { "Retry-After": "3", RateLimit: '"a";r=0;t=50' }, 3000],
    ["words that Date.parse would take: not told", { "Retry-After": "May 5" }, GUESS_MS],
    ["a day that does not exist: not told", { "Retry-After": "Sat, 99 Foo 2026 00:00:00 GMT" }, GUESS_MS],
    ["empty: not told", { "Retry-After": "" }, GUESS_MS],
    ["huge: finite", { "Retry-After": HUGE }, LONGEST_MS],
    ["garbage, but a reset beside it", { "Retry-After": "soon", ...xReset("4") }, 4000],
  ])("%s", async (_what, headers, expectedMs) => {
    expect(await waitOf(headers)).toBe(expectedMs);
  });
});

it("a date without a zone is not read in the client's", async () => {
  vi.stubEnv("TZ", "America/New_York");
  expect(new Date(NOW_MS).getHours()).not.toBe(new Date(NOW_MS).getUTCHours());
  expect(await waitOf({ "Retry-After": asctime(inSeconds(45)) })).toBe(45_000);
});

describe("the RateLimit fields, without Retry-After", () => {
  it.each([
    ["draft 11", { RateLimit: '"a";r=0;t=12', "RateLimit-Policy": '"a";q=10;w=60' }, 12_000],
    ["draft 11, only limits with nothing left count", { RateLimit: '"a";r=0;t=3, "b";r=5;t=90' }, 3000],
    ["draft 11, all have some: the longest, the cost is not known", { RateLimit: '"a";r=2;t=3, "b";r=5;t=6' }, 6000],
    ["draft 11, names with separators and quotes", { RateLimit: '"a,;\\"r=1";r=0;t=5' }, 5000],
    ["draft 11, white space and further parameters", { RateLimit: ' "a" ; pk=:AA=: ;r=0;  t=5' }, 5000],
    ["draft 11, r is no number: the next family", { RateLimit: '"a";r=x;t=5', ...xReset("2") }, 2000],
    ["draft 7", { RateLimit: "limit=10, remaining=0, reset=7", "RateLimit-Policy": "10;w=60" }, 7000],
    ["drafts up to 6", { "RateLimit-Limit": "9, 9;w=60", "RateLimit-Remaining": "0", "RateLimit-Reset": "8" }, 8000],
    ["X-, seconds from now", xReset("9"), 9000],
    ["X-, seconds since the epoch", xReset(epoch(11)), 11_000],
    ["X-, milliseconds since the epoch", xReset(`${epoch(11)}500`), 11_500],
    ["X-, by the server's clock, an hour behind", { ...xReset(epoch(-3590)), Date: http(-3600) }, 10_000],
    ["X-, an instant that has passed", xReset(epoch(-5)), undefined],
    ["X-Rate-Limit-", { "X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": epoch(6) }, 6000],
    ["X-, of two limiters: the first", xReset("3, 60", "0, 5"), 3000],
    ["X-, huge: finite", xReset(HUGE), LONGEST_MS - NOW_MS],
  ])("%s", async (_what, headers, expectedMs) => {
    expect(await waitOf(headers)).toBe(expectedMs);
  });

  it.each([
    ["draft 11", { RateLimit: '"a";r=0;t=1', "RateLimit-Policy": '"a";q=10;w=2' }, 10_000],
    ["draft 7", { RateLimit: "limit=10, remaining=0, reset=1", "RateLimit-Policy": "5;w=1, 10;w=2" }, 10_000],
    ["draft 6", { "RateLimit-Limit": "10, 5;w=1, 10;w=2", "RateLimit-Remaining": "0", "RateLimit-Reset": "1" }, 10_000],
    ["a long window counts as 3 s", { RateLimit: '"a";r=0;t=1', "RateLimit-Policy": '"a";q=10;w=3600' }, 15_000],
    ["a short wait without a window counts as 0.2 s", { "Retry-After": "0" }, 1000],
  ])("tell the window, over 5 of which clients spread: %s", async (_what, headers, spreadMs) => {
    const leastMs = (await waitOf(headers)) ?? 0;
    expect(await waitOf(headers, () => 0.5)).toBe(leastMs + spreadMs / 2);
  });
});

describe("hostile fields", () => {
  /** Processor time, so that a busy machine changes little. */
  const cpuMs = (work: () => void) => {
    const before = process.cpuUsage();
    for (let i = 0; i < 50; i++) work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  const LENGTH = 8000;
  const filled = (part: string) => part.repeat(LENGTH / part.length);

  it.each([
    ["quotes that never close", filled('\\"')],
    ["an open quote and backslashes", `"${filled("\\\\")}`],
    ["members", filled('"a";r=0,')],
    ["parameters", `"a"${filled(";r=0")}`],
    ["parameters with quotes that never close", `"a";r=${filled('\\"')}`],
    ["separators", filled(",;")],
  ])("cost no more time than others: %s", (_what, hostile) => {
    const parse = (text: string) => () => rulesOf(new Headers({ RateLimit: text, "RateLimit-Policy": text }), NOW_MS);
    const plain = parse(Array.from({ length: 200 }, (_, i) => `"policy-${i}";r=${i};t=60;pk=:cGFydGl0aW9u:`).join());
    cpuMs(plain);
    // What reads the text again for each quote or member takes some 100 times as long.
    expect(cpuMs(parse(hostile))).toBeLessThan(10 * Math.max(cpuMs(plain), 10));
  });

  it("a field above 8 KiB is not told, and of a list the first 100 limits count", async () => {
    const spaces = " ".repeat(8192);
    expect(await waitOf({ RateLimit: `"a";r=0;t=9,"${spaces}";r=0`, "Retry-After": `9,${spaces}9` })).toBe(GUESS_MS);
    const rules = Array.from({ length: 101 }, (_, i) => `"${i}";r=0;t=${i}`).join();
    expect(await waitOf({ RateLimit: rules })).toBe(99_000);
  });
});

const text = fc.oneof(
  fc.string(),
  fc.double().map(String),
  fc.bigInt().map(String),
  fc.stringMatching(/^[";,=rtqw0-9 -]{0,30}$/),
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
);
const latin1 = text.map((one) => one.replace(/[^\x20-\x7e]/g, ""));

it("whatever the fields hold, a wait is finite and not negative", async () => {
  const names = ["Retry-After", "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "Date"];
  const fields = fc.dictionary(fc.constantFrom(...names, "RateLimit-Reset", "X-RateLimit-Reset"), latin1);
  await fc.assert(
    fc.asyncProperty(fields, fc.double({ min: 0, max: 0.999, noNaN: true }), async (headers, random) => {
      const waitMs = (await waitOf({ "X-RateLimit-Remaining": "0", ...headers }, () => random)) ?? 0;
      expect(Number.isFinite(waitMs)).toBe(true);
      expect(waitMs).toBeGreaterThanOrEqual(0);
    }),
    draws(500),
  );
});

it("a wait is never below what the server said, and above it by chance only", async () => {
  const seconds = fc.nat({ max: 100_000 });
  const chance = fc.double({ min: 0, max: 0.999, noNaN: true });
  const forms: ((seconds: number) => Record<string, string>)[] = [
    (s) => ({ "Retry-After": String(s) }),
    (s) => ({ "Retry-After": http(s) }),
    (s) => ({ RateLimit: `"a";r=0;t=${s}` }),
    (s) => ({ RateLimit: `limit=5, remaining=0, reset=${s}` }),
    (s) => xReset(epoch(s)),
  ];
  await fc.assert(
    fc.asyncProperty(seconds, chance, fc.constantFrom(...forms), async (s, random, form) => {
      const waitMs = (await waitOf(form(s), () => random)) ?? 0;
      expect(waitMs).toBeGreaterThanOrEqual(s * 1000);
      expect(waitMs).toBeLessThanOrEqual(s * 1000 + 15_000);
    }),
    draws(100),
  );
});
