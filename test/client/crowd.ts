// Many clients at one limiter in virtual time. Policies, memory store, `enforce` and header fields are the real ones;
// the clock, the random numbers and the network delay are simulated. One client runs at a time, so that a seed always
// gives the same run.

import { setImmediate } from "node:timers/promises";
import { vi } from "vitest";
import { type BackoffOptions, fetchWithBackoff } from "../../src/client/index.ts";
import type { LimitInput } from "../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import type { Limiter } from "../../src/limiter.ts";
import { createEnforce } from "../support/http/enforce.ts";
import { createLimiter } from "../support/limiter.ts";
import { mostWithin } from "../support/most-within.ts";
import { mulberry32 } from "../support/mulberry32.ts";

const RELEASED_AT_MS = 1_700_000_000_000;

/** The delay one way, in ms: at least this, at most twice this, at random. */
const NETWORK_MS = 5;

export interface CrowdOptions {
  readonly clients: number;
  /** The limit for all clients together. A number means requests per second. */
  readonly limit: number | LimitInput;
  readonly seed: number;
  /** How long the origin works on each request, in ms. Default 0. */
  readonly workMs?: number;
  /** How far into the limiter's bucket the clients start, in ms. */
  readonly phaseMs?: number;
}

/** One client: sends a request until it is admitted. It may use only the means that it is given. */
export type Client = (
  url: string,
  means: Required<Pick<BackoffOptions, "fetch" | "now" | "random" | "sleep">>,
) => Promise<Response>;

export interface Outcome {
  /** How many clients were admitted. */
  readonly admitted: number;
  /** The time from the start to the last answer. */
  readonly tookMs: number;
  readonly requests: number;
  /** How many of the requests were answered 429. */
  readonly refusals: number;
  /** The most requests that arrived within any 1 s after the first second. */
  readonly peak: number;
}

/** A client that waits exactly as long as it is told. */
export const naive: Client = async (url, { fetch, sleep }) => {
  for (;;) {
    const response = await fetch(url);
    if (response.status !== 429) return response;
    await sleep(Number(response.headers.get("Retry-After")) * 1000);
  }
};

export function backingOff(options: BackoffOptions = {}): Client {
  return (url, means) => fetchWithBackoff(url, undefined, { ...means, ...options });
}

export async function release(client: Client, options: CrowdOptions): Promise<Outcome> {
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
    policies: [
      { name: "shared", key: ["global"], limits: [typeof limit === "number" ? { limit, window: "1s" } : limit] },
    ],
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
      peak: mostWithin(
        arrivedMs.filter((ms) => ms >= 1000).sort((a, b) => a - b),
        1000,
      ),
    };
  } finally {
    vi.useRealTimers();
  }
}
