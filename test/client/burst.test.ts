// 20 calls at once, against each algorithm. They are refused less often than those of clients that wait as told, and
// take at most one random wait longer. Time is virtual, so that a seed always gives the same run.

import { expect, it, vi } from "vitest";
import type { LimitInput } from "../../src/kernel/config/policy-input.ts";
import { firstOf } from "../support/cases/draws.ts";
import { backingOff, type Client, naive, release } from "./crowd.ts";

// Computing thousands of requests takes a few seconds, and longer on a busy machine. The measured time is virtual.
vi.setConfig({ testTimeout: 120_000 });

const CALLS = 20;
const window = { limit: 5, window: "2s" } as const;
const LIMITS: readonly LimitInput[] = [
  { algorithm: "sliding-window", ...window },
  { algorithm: "fixed-window", ...window },
  { algorithm: "sliding-log", ...window },
  { algorithm: "token-bucket", ...window },
  { algorithm: "leaky-bucket", ...window, maxDelay: "2s" },
  { algorithm: "concurrency", limit: 5 },
];
/** How long the origin works, in ms. A slow origin delays the answers that say what remains. */
const WORKS_MS = [0, 300, 1000];
/** Each seed starts at another moment of the window, with other random numbers. */
const SEEDS = firstOf([1, 2]);

/** Waits like axios-retry: up to a fifth longer than told. */
const jittered: Client = async (url, { fetch, random, sleep }) => {
  for (;;) {
    const response = await fetch(url);
    if (response.status !== 429) return response;
    await sleep(Number(response.headers.get("Retry-After")) * 1000 * (1 + random() / 5));
  }
};

const cases = LIMITS.flatMap((limit) =>
  WORKS_MS.map((workMs) => ({
    algorithm: limit.algorithm!,
    workMs: Math.max(workMs, "window" in limit ? 0 : 100),
    limit,
  })),
);

it.each(cases)("$algorithm, $workMs ms of work", async ({ limit, workMs }) => {
  for (const seed of SEEDS) {
    const at = { clients: CALLS, limit, seed, workMs, phaseMs: (seed * 613) % 2000 };
    const theirs = [await release(naive, at), await release(jittered, at)];
    const ours = await release(backingOff(), at);
    expect(ours.admitted).toBe(CALLS);
    // One random wait of at most 5 windows, and one window in which it ends.
    const addedMs = "window" in limit ? 12_000 : 6_000;
    expect(ours.tookMs).toBeLessThanOrEqual(addedMs + Math.min(...theirs.map(({ tookMs }) => tookMs)));
    expect(ours.refusals).toBeLessThan(Math.min(...theirs.map(({ refusals }) => refusals)));
  }
});

it("100 strangers are all admitted soon, with few requests, whatever the moment of the second", async () => {
  for (const seed of firstOf([1, 2, 3, 4])) {
    const at = { clients: 100, limit: 10, seed, phaseMs: 230 * (seed - 1) };
    const [ours, theirs] = [await release(backingOff(), at), await release(naive, at)];
    expect(ours.admitted).toBe(100);
    // 10 clients are admitted at once, and 10 more each second.
    expect(ours.tookMs).toBeLessThan(2.5 * 9_000);
    expect(ours.requests).toBeLessThan(3 * 100);
    expect(ours.peak).toBeLessThanOrEqual(5 * Math.min(10, (ours.requests * 1000) / ours.tookMs));
    expect(theirs.requests).toBeGreaterThan(2 * ours.requests);
    expect(theirs.peak).toBeGreaterThan(2 * ours.peak);
  }
});

// It takes long.
it.runIf(process.env.TESTS === "all")(
  "a crowd six times as large needs at most half more than the ideal time, and fewer than 10 requests each",
  async () => {
    const patient = backingOff({ timeBudgetMs: 600_000, maxRetries: 100 });
    const outcome = await release(patient, { clients: 600, limit: 10, seed: 1 });
    expect(outcome.admitted).toBe(600);
    expect(outcome.tookMs).toBeLessThan(1.5 * 60_000);
    expect(outcome.requests).toBeLessThan(10 * 600);
  },
);
