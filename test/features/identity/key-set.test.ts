// The key set of an issuer: a real HTTP server that changes its keys, goes away, hangs, floods or answers nonsense.

import { jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { createKeySet, FETCH_MS } from "../../../src/features/identity/key-set.ts";
import { jwkOf, pairOf, startKeyServer, tokenOf, withKeys } from "../../support/issuer.ts";

const [first, second] = [pairOf("first"), pairOf("second")];
const WAIT_MS = 10_000;
const MINUTE_MS = 60_000;
const kept: Promise<unknown>[] = [];
const background = { waitUntil: (work: Promise<unknown>) => void kept.push(work) };

/** A key set over a real server, with a clock that the test moves. */
async function keySet(...answer: Parameters<typeof startKeyServer>) {
  const server = await startKeyServer(...answer);
  const lines: object[] = [];
  const beganAtMs = performance.now();
  const clock = { nowMs: 1_800_000_000_000, isTicking: false };
  const elapsedMs = () => (clock.isTicking ? performance.now() - beganAtMs : 0);
  const timing = {
    nowMs: () => clock.nowMs + elapsedMs(),
    sleep: (ms: number) => new Promise<void>((done) => setTimeout(done, ms)),
  };
  const keys = createKeySet(server.url, { timing, report: (line) => void lines.push(line) });
  return {
    ...{ keys, server, clock, lines },
    /** Whether a token of this pair is verified now. */
    async knows(pair = first, waitMs = WAIT_MS) {
      await keys.ready(waitMs, background);
      const token = tokenOf(pair, { alg: pair.alg, kid: pair.kid }, {});
      return await jwtVerify(token, keys.finder(waitMs, background)).then(
        () => true,
        (error) => error.code,
      );
    },
    /** Until what requests have begun in the background has ended. */
    async settled() {
      await Promise.all(kept.splice(0));
    },
  };
}

const UNKNOWN = "ERR_JWKS_NO_MATCHING_KEY";
const failures = (lines: object[]) => lines.map((line) => (line as { failure: string }).failure);

it("is fetched once by many requests at once, and is kept for 10 minutes", async () => {
  const { knows, server, clock, settled } = await keySet(withKeys(jwkOf(first)));
  const found = await Promise.all(Array.from({ length: 50 }, () => knows()));
  expect(found).toEqual(Array(50).fill(true));
  clock.nowMs += 10 * MINUTE_MS;
  expect([await knows(), server.asked()]).toEqual([true, 1]);
  // One more millisecond: in the background of 50 requests, none of which waits.
  clock.nowMs++;
  await Promise.all(Array.from({ length: 50 }, () => knows()));
  await settled();
  expect(server.asked()).toBe(2);
});

describe("a new key", () => {
  it("is looked for when a token names it, at most every 30 s", async () => {
    const { knows, server, clock } = await keySet(withKeys(jwkOf(first)));
    expect(await knows()).toBe(true);
    server.answer = withKeys(jwkOf(first), jwkOf(second));
    clock.nowMs += 29_999;
    expect([await knows(second), server.asked()]).toEqual([UNKNOWN, 1]);
    clock.nowMs++;
    // All wait for one fetch.
    const found = await Promise.all(Array.from({ length: 20 }, () => knows(second)));
    expect([found, server.asked()]).toEqual([Array(20).fill(true), 2]);
  });

  it("that is in no set makes nobody ask more often", async () => {
    const { knows, server, clock } = await keySet(withKeys(jwkOf(first)));
    for (let i = 0; i < 60; i++) {
      clock.nowMs += 1_000;
      await Promise.all([knows(pairOf(`made-up-${i}`, "EdDSA")), knows(second)]);
    }
    expect(server.asked()).toBeLessThanOrEqual(3);
  });

  it("in place of the old one with the same name holds after the next fetch, and the old one no more", async () => {
    const { knows, server, clock, keys, settled } = await keySet(withKeys(jwkOf(first)));
    expect([await knows(), keys.version()]).toEqual([true, 1]);
    const other = pairOf("first");
    server.answer = withKeys(jwkOf(other));
    clock.nowMs += 11 * MINUTE_MS;
    expect(await knows()).toBe(true);
    await settled();
    expect([await knows(), await knows(other), keys.version()]).toEqual([
      "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
      true,
      2,
    ]);
  });
});

it("waits for the keys if the last ones are older than 20 minutes, or if nothing goes on after the answer", async () => {
  const { keys, knows, server, clock } = await keySet(withKeys(jwkOf(first)));
  await knows();
  server.answer = withKeys(jwkOf(second));
  clock.nowMs += 20 * MINUTE_MS + 1;
  expect([await knows(), await knows(second)]).toEqual([UNKNOWN, true]);
  server.answer = withKeys(jwkOf(first));
  clock.nowMs += 10 * MINUTE_MS + 1;
  await keys.ready(WAIT_MS);
  expect(keys.version()).toBe(3);
});

describe("a server", () => {
  it.each<[what: string, failure: string, answer: Parameters<typeof startKeyServer>[0]]>([
    ["that closes the connection", "no connection", (response) => response.destroy()],
    ["that redirects", "status 302", (response) => response.writeHead(302, { Location: "/other.json" }).end()],
    ["that has an error", "status 500", (response) => response.writeHead(500).end(JSON.stringify({ keys: [] }))],
    ["that answers HTML", "no key set", (response) => response.end("<!doctype html>")],
    ["that answers other JSON", "no key set", (response) => response.end('{"keys":"none"}')],
    ["that answers a list", "no key set", (response) => response.end("[]")],
    ["that answers nothing", "no key set", (response) => response.end()],
    [
      "that answers without end",
      "more than 131072 bytes",
      (response) => {
        const more = () => {
          while (response.write("x".repeat(10_000)));
        };
        response.on("drain", more);
        more();
      },
    ],
  ])("%s gives no keys, and the last ones hold: one line tells", async (_what, failure, answer) => {
    const { knows, server, clock, lines, settled } = await keySet(answer);
    expect(await knows()).toBe(UNKNOWN);
    expect(await knows()).toBe(UNKNOWN);
    // Not asked again at once.
    expect(server.asked()).toBe(1);
    expect(lines).toEqual([{ event: "key-set", jwks: server.url, failure }]);
    server.answer = withKeys(jwkOf(first));
    clock.nowMs += 5_000;
    expect(await knows()).toBe(true);

    server.answer = answer;
    for (let i = 0; i < 20; i++) {
      clock.nowMs += 5 * MINUTE_MS;
      expect(await knows()).toBe(true);
      await settled();
    }
    expect(failures(lines)).toEqual([failure, failure]);
    server.answer = withKeys(jwkOf(second));
    clock.nowMs += 5 * MINUTE_MS;
    expect(await knows(second)).toBe(true);
  });

  // In real time: what is measured is how long requests wait.
  it("that hangs makes requests wait as long as the decision may take, and later ones not at all", async () => {
    const { knows, server, clock } = await keySet(() => {});
    clock.isTicking = true;
    const beganAtMs = performance.now();
    const timed = async () => [await knows(first, 200), performance.now() - beganAtMs] as const;
    const waiting = [timed()];
    await new Promise((done) => setTimeout(done, 100));
    waiting.push(timed());
    for (const [found, afterMs] of await Promise.all(waiting)) {
      expect(found).toBe(UNKNOWN);
      expect(afterMs).toBeGreaterThan(190);
      expect(afterMs).toBeLessThan(2_000);
    }
    // The fetch goes on for 5 s, and 100 requests do not wait for it: not even as long as one would.
    const laterAtMs = performance.now();
    for (let i = 0; i < 100; i++) expect(await knows(first, 200)).toBe(UNKNOWN);
    expect(performance.now() - laterAtMs).toBeLessThan(5_000);
    expect(server.asked()).toBe(1);
  });

  it("whose answer was lost with the request that asked for it is asked again", async () => {
    const { knows, server, clock } = await keySet(() => {});
    clock.isTicking = true;
    expect(await knows(first, 1)).toBe(UNKNOWN);
    await expect.poll(server.asked).toBe(1);
    server.answer = withKeys(jwkOf(first));
    clock.nowMs += FETCH_MS - 1_000;
    expect([await knows(first, 1), server.asked()]).toEqual([UNKNOWN, 1]);
    clock.nowMs += 1_500;
    expect([await knows(), server.asked()]).toEqual([true, 2]);
  });
});
