// One client makes 20 calls at once, against each algorithm. It is nearly as quick as clients that wait exactly as
// told, and it is refused less often. Time is virtual, so that a seed always gives the same run.

import { describe, expect, it, vi } from "vitest";
import { createBackoff, fetchWithBackoff } from "../../src/client/index.ts";
import type { LimitInput } from "../../src/config/policy-input.ts";
import { backingOff, type Client, type CrowdOptions, naive, type Outcome, release } from "./crowd.ts";
import { answer, scripted, URL_OF_API } from "./scripted.ts";

// Computing thousands of requests takes a few seconds, and longer on a busy machine. The measured time is virtual.
vi.setConfig({ testTimeout: 120_000 });

const CALLS = 20;
/** The project's bound: the time may be this many times the best peer's time. */
const MOST_OF_BEST = 1.5;

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
const SEEDS = [1, 2];

/** Waits like axios-retry: up to a fifth longer than told. */
const jittered: Client = async (url, { fetch, random, sleep }) => {
  for (;;) {
    const response = await fetch(url);
    if (response.status !== 429) return response;
    await sleep(Number(response.headers.get("Retry-After")) * 1000 * (1 + random() / 5));
  }
};

/** The outcomes of the peers, by the options of the crowd: both of our clients are compared with the same ones. */
const peersAt = new Map<string, Promise<Outcome[]>>();

function peers(at: CrowdOptions): Promise<Outcome[]> {
  const name = JSON.stringify(at);
  const known = peersAt.get(name) ?? (async () => [await release(naive, at), await release(jittered, at)])();
  peersAt.set(name, known);
  return known;
}

/** All calls share one `createBackoff` client. */
function oneClient(): Client {
  const one = createBackoff();
  return backingOff(() => one);
}

/** `fetchWithBackoff` on its own, as a program calls it: with one `fetch` for all calls. */
function alone(): Client {
  let fetch: Parameters<Client>[1]["fetch"] | undefined;
  return (url, means) => {
    fetch ??= means.fetch;
    return fetchWithBackoff(url, undefined, { ...means, fetch });
  };
}

const cases = LIMITS.flatMap((limit) =>
  WORKS_MS.map((workMs) => ({
    algorithm: limit.algorithm!,
    workMs: Math.max(workMs, "window" in limit ? 0 : 100),
    limit,
  })),
);

describe.each([
  ["createBackoff", oneClient],
  ["fetchWithBackoff", alone],
])("%s", (_name, make) => {
  it.each(cases)("$algorithm, $workMs ms of work", async ({ limit, workMs }) => {
    for (const seed of SEEDS) {
      const at = { clients: CALLS, limit, seed, workMs, phaseMs: (seed * 613) % 2000 };
      const theirs = await peers(at);
      const ours = await release(make(), at);
      expect(ours.admitted).toBe(CALLS);
      expect(ours.tookMs).toBeLessThanOrEqual(MOST_OF_BEST * Math.min(...theirs.map(({ tookMs }) => tookMs)));
      expect(ours.refusals).toBeLessThan(Math.min(...theirs.map(({ refusals }) => refusals)));
    }
  });
});

describe("calls in turn", () => {
  /** The project's bound: the time may be this many times that of the naive loop. */
  const MOST_OF_NAIVE = 1.15;
  const inTurn =
    (one: Client): Client =>
    async (url, means) => {
      for (let i = 1; i < CALLS; i++) await one(url, means);
      return await one(url, means);
    };

  it.each(cases.filter(({ workMs }) => workMs < 1000))("$algorithm, $workMs ms of work", async ({ limit, workMs }) => {
    const took = { naive: 0, createBackoff: 0 };
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const at = { clients: 1, limit, seed, workMs, phaseMs: (seed * 613) % 2000 };
      const theirs = await release(inTurn(naive), at);
      const forgetful = await release(inTurn(alone()), at);
      expect(forgetful.tookMs).toBeLessThanOrEqual(MOST_OF_NAIVE * theirs.tookMs);
      expect(forgetful.refusals).toBeLessThanOrEqual(theirs.refusals);
      const ours = await release(inTurn(oneClient()), at);
      expect(ours.refusals).toBe(0);
      took.naive += theirs.tookMs;
      took.createBackoff += ours.tookMs;
    }
    // A client that is not refused waits from an earlier answer on than the naive loop, and whole seconds: in one run
    // this is luck or bad luck.
    expect(took.createBackoff).toBeLessThanOrEqual(MOST_OF_NAIVE * took.naive);
  });
});

/** The server answers r=0 for 30 s. Sleeping clients stay asleep until the test stops them. */
function usedUp() {
  const sentAs: (string | null)[] = [];
  const asleep: (() => void)[] = [];
  const options = {
    now: () => 0,
    random: () => 0,
    async fetch(_input: unknown, init?: RequestInit) {
      sentAs.push(new Headers(init?.headers).get("Authorization"));
      return new Response(null, { status: 429, headers: { "Retry-After": "30", RateLimit: '"a";r=0;t=30' } });
    },
    sleep: (_durationMs: number, signal?: AbortSignal | null) =>
      new Promise<void>((_resolve, reject) => {
        const stop = () => reject(signal!.reason);
        asleep.push(stop);
        signal!.addEventListener("abort", stop);
      }),
  };
  const controller = new AbortController();
  const call = (who: string) => {
    const init = { headers: { Authorization: who }, signal: controller.signal };
    return fetchWithBackoff("https://a.example/", init, options).catch(() => {});
  };
  return { sentAs, asleep, call, stop: () => controller.abort() };
}

it("calls of fetchWithBackoff that overlap line up if they go as the same client, and know nothing of others", async () => {
  const { sentAs, asleep, call, stop } = usedUp();
  const first = call("a");
  await vi.waitFor(() => expect(asleep).toHaveLength(1));
  const second = call("a");
  const third = call("b");
  await vi.waitFor(() => expect(asleep).toHaveLength(3));
  expect(sentAs).toEqual(["a", "b"]);
  stop();
  await Promise.all([first, second, third]);
});

it("what is left is not remembered after the last call of fetchWithBackoff", async () => {
  const { options, sent, waitsMs } = scripted([answer(200, { RateLimit: '"a";r=0;t=30' })]);
  for (let i = 0; i < 3; i++) await fetchWithBackoff(URL_OF_API, undefined, options);
  expect([sent.length, waitsMs]).toEqual([3, []]);
});
