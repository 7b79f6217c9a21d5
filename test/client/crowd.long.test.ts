// 100 clients start at the same instant under a limit of 10 per second. They share a key and do not know of each other.

import { expect, it, vi } from "vitest";
import { backingOff, type Client, naive, type Outcome, release } from "./crowd.ts";

// Computing thousands of requests takes a few seconds, and longer on a busy machine. The measured time is virtual.
vi.setConfig({ testTimeout: 240_000 });

const CLIENTS = 100;
const LIMIT = 10;
const SEEDS = [1, 2, 3, 4];
/** Moments of release in a second: so many that the lucky ones for the naive loop do not decide the averages. */
const MOMENTS = 12;

/** 10 clients are admitted at once, and 10 more each second. */
const IDEAL_MS = 9000;

const meanPerSecond = ({ requests, tookMs }: Outcome) => (requests * 1000) / tookMs;
const mean = (all: readonly number[]) => all.reduce((a, b) => a + b) / all.length;

/** The project's bounds, read as strictly as possible. */
function expectWithinBounds(outcome: Outcome): void {
  expect(outcome.admitted).toBe(CLIENTS);
  expect(outcome.tookMs).toBeLessThan(2.5 * IDEAL_MS);
  expect(outcome.requests).toBeLessThan(3 * CLIENTS);
  expect(outcome.peak).toBeLessThanOrEqual(5 * meanPerSecond(outcome));
  expect(outcome.peak).toBeLessThanOrEqual(5 * LIMIT);
}

it("released at any moment of a second all finish within the bounds, and the naive loop costs more", async () => {
  const [ours, theirs]: [Outcome[], Outcome[]] = [[], []];
  for (let seed = 0; seed < MOMENTS; seed++) {
    const at = { clients: CLIENTS, limit: LIMIT, seed, phaseMs: Math.round((seed * 1000) / MOMENTS) };
    ours.push(await release(backingOff(), at));
    theirs.push(await release(naive, at));
    expectWithinBounds(ours[seed]!);
    expect(theirs[seed]!.requests).toBeGreaterThan(2 * ours[seed]!.requests);
    expect(theirs[seed]!.peak).toBeGreaterThan(2 * ours[seed]!.peak);
  }
  // Compare averages: at a lucky moment of release the naive loop loses no time, because it asks whenever units come
  // back.
  expect(mean(theirs.map(({ tookMs }) => tookMs))).toBeGreaterThan(mean(ours.map(({ tookMs }) => tookMs)));
});

it("clients that go on calling leave room for each other", async () => {
  const CALLS = 10;
  const loop =
    (one: Client): Client =>
    async (url, means) => {
      for (let i = 1; i < CALLS; i++) await one(url, means);
      return await one(url, means);
    };
  const [ours, theirs]: [Outcome[], Outcome[]] = [[], []];
  for (const seed of SEEDS) {
    const at = { clients: 20, limit: LIMIT, seed, phaseMs: 150 * seed };
    ours.push(await release(loop(backingOff()), at));
    theirs.push(await release(loop(naive), at));
  }
  const meanOf = (all: readonly Outcome[], of: (outcome: Outcome) => number) => mean(all.map(of));
  expect(meanOf(ours, ({ tookMs }) => tookMs)).toBeLessThan(meanOf(theirs, ({ tookMs }) => tookMs));
  expect(meanOf(ours, ({ refusals }) => refusals)).toBeLessThan(meanOf(theirs, ({ refusals }) => refusals) / 3);
});

it("a crowd six times as large needs at most half more than the ideal time, and fewer than 10 requests each", async () => {
  const patient = backingOff({ timeBudgetMs: 600_000, maxRetries: 100 });
  const outcome = await release(patient, { clients: 600, limit: LIMIT, seed: 1 });
  expect(outcome.admitted).toBe(600);
  expect(outcome.tookMs).toBeLessThan(1.5 * 60_000);
  expect(outcome.requests).toBeLessThan(10 * 600);
});
