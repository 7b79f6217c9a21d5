// Many clients at one limiter in virtual time. Policies, memory store, `enforce` and header fields are the real ones;
// the clock, the random numbers and the network delay are simulated. One client runs at a time.
//
// 20 calls at once, against each algorithm. They are refused less often than those of clients that wait as told, and
// take at most one random wait longer. Time is virtual, so that a seed always gives the same run.

import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { type BackoffOptions, fetchWithBackoff } from "../../src/client/index.ts";
import type { LimitInput } from "../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import type { Limiter } from "../../src/limiter.ts";
import { firstOf } from "../support/cases/draws.ts";
import { createEnforce } from "../support/http/enforce.ts";
import { createLimiter } from "../support/limiter.ts";
import { mostWithin } from "../support/most-within.ts";
import { mulberry32 } from "../support/mulberry32.ts";

// Computing thousands of requests takes a few seconds, and longer on a busy machine. The measured time is virtual.
vi.setConfig({ testTimeout: 120_000 });

const RELEASED_AT_MS = 1_700_000_000_000;

/** The delay one way, in ms: at least this, at most twice this, at random. */
const NETWORK_MS = 5;

interface CrowdOptions {
  readonly clients: number;
  /** The limit for all clients together. */
  readonly limit: LimitInput;
  readonly seed: number;
  /** How long the origin works on each request, in ms. Default 0. */
  readonly workMs?: number;
  /** How far into the limiter's bucket the clients start, in ms. */
  readonly phaseMs?: number;
}

/** One client: sends a request until it is admitted. It may use only the means that it is given. */
type Client = (
  url: string,
  means: Required<Pick<BackoffOptions, "fetch" | "now" | "random" | "sleep">>,
) => Promise<Response>;

/** A client that waits exactly as long as it is told. */
const naive: Client = async (url, { fetch, sleep }) => {
  for (;;) {
    const response = await fetch(url);
    if (response.status !== 429) return response;
    await sleep(Number(response.headers.get("Retry-After")) * 1000);
  }
};

function backingOff(options: BackoffOptions = {}): Client {
  return (url, means) => fetchWithBackoff(url, undefined, { ...means, ...options });
}

async function release(client: Client, options: CrowdOptions) {
  const { clients, limit, seed, phaseMs = 0, workMs = 0 } = options;
  const startMs = RELEASED_AT_MS + phaseMs;
  const arrivedMs: number[] = [];
  const sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  let nowMs = startMs;
  let awake = clients;
  let refusals = 0;

  const sleep = (durationMs: number) =>
    new Promise<void>((wake) => {
      sleepers.push({ at: nowMs + durationMs, wake });
      awake--;
    });
  const limiter = createLimiter({
    policies: [{ name: "shared", key: ["global"], limits: [limit] }],
    store: memoryStore(),
  });
  /** Admits as the gateway does, but the delay of a leaky bucket passes in virtual time. */
  const admit = async (request: Request) => {
    let heldMs = 0;
    const takeMatched: Limiter["takeMatched"] = async (...take) => {
      const { delayMs = 0, ...decision } = await limiter.takeMatched(...take);
      heldMs = delayMs;
      return decision;
    };
    const enforce = createEnforce({
      limiter: { ...limiter, takeMatched },
      rateLimitHeaders: "both",
      regionOf: () => "local",
    });
    return await enforce(request, async () => {
      await sleep(heldMs + workMs);
      return new Response("ok");
    });
  };

  const run = async (index: number) => {
    const random = mulberry32(seed * 1_000_003 + index);
    const delay = () => sleep(NETWORK_MS * (1 + random()));
    const fetch = async (input: string | URL | Request, init?: RequestInit) => {
      await delay();
      arrivedMs.push(nowMs - startMs);
      const response = await admit(new Request(input, init));
      if (response.status === 429) refusals++;
      // Read the body to its end: a slot is held until then.
      await response.arrayBuffer();
      await delay();
      return response;
    };
    const response = await client("http://api.example/", { fetch, now: () => nowMs, random, sleep });
    awake--;
    return response.status;
  };

  vi.useFakeTimers({ toFake: ["Date"], now: startMs });
  try {
    const running = Promise.all(Array.from({ length: clients }, (_, index) => run(index)));
    for (;;) {
      // The clock moves only when no client is active and no slot is being given back.
      do await setImmediate();
      while (awake > 0);
      const next = sleepers.reduce((a, b) => (b.at < a.at ? b : a), sleepers[0]!);
      if (!next) break;
      sleepers.splice(sleepers.indexOf(next), 1);
      nowMs = next.at;
      vi.setSystemTime(Math.floor(nowMs));
      awake++;
      next.wake();
    }
    const statuses = await running;
    return {
      admitted: statuses.filter((status) => status === 200).length,
      tookMs: nowMs - startMs,
      requests: arrivedMs.length,
      refusals,
      // The most requests that arrived within any 1 s after the first second.
      peak: mostWithin(
        arrivedMs.filter((ms) => ms >= 1000).sort((a, b) => a - b),
        1000,
      ),
    };
  } finally {
    vi.useRealTimers();
  }
}

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
    const [ours, theirs] = [await release(backingOff(), at), await release(naive, at)];
    expect(ours.admitted).toBe(CALLS);
    // One random wait of at most 5 windows, and one window in which it ends.
    const addedMs = "window" in limit ? 12_000 : 6_000;
    expect(ours.tookMs).toBeLessThanOrEqual(addedMs + theirs.tookMs);
    expect(ours.refusals).toBeLessThan(theirs.refusals);
  }
});

const TEN = { limit: 10, window: "1s" } as const;

it("100 strangers are all admitted soon, with few requests, whatever the moment of the second", async () => {
  for (const seed of firstOf([1, 2, 3, 4])) {
    const at = { clients: 100, limit: TEN, seed, phaseMs: 230 * (seed - 1) };
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
    const outcome = await release(patient, { clients: 600, limit: TEN, seed: 1 });
    expect(outcome.admitted).toBe(600);
    expect(outcome.tookMs).toBeLessThan(1.5 * 60_000);
    expect(outcome.requests).toBeLessThan(10 * 600);
  },
);
