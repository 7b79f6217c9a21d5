// The wait that a chain tells is true when nobody else asks: a real limiter behind Hono, over a real Redis. Both clocks
// are set: `Date` is faked, and ARGV[1] of every call, which asks for the server's clock with 0, gets the same instant.
// A timer that fires moves the clock: an isolate holds a request whose units come back within some milliseconds.

import { Hono } from "hono";
import { afterEach, beforeEach, expect, inject, it, vi } from "vitest";
import { rateLimit } from "../../src/adapters/hono.ts";
import { redisStore } from "../../src/index.ts";
import type { PolicyInput } from "../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../src/kernel/core/decision.ts";
import { firstOf } from "../support/cases/draws.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { createLimiter } from "../support/limiter.ts";
import { mulberry32 } from "../support/mulberry32.ts";

const SECOND_MS = 1_000;
/** An isolate knows Redis's clock to 5 ms and the drift of 5 s, and never tells a wait that is too short. */
const CLOCK_MS = 7;
/** A request this close to the end of its wait is held until then, and admitted. */
const HELD_MS = 51;
/** 100 s before a midnight in Berlin: a calendar's wait is at times the shortest. */
const START_MS = Date.UTC(2026, 10, 24, 23) - 100 * SECOND_MS;

/** A request of 3 units can never pass the small one. */
const LINKS: Readonly<Record<string, PolicyInput["limits"]>> = {
  small: [{ algorithm: "sliding-log", limit: 2, window: "20s" }],
  window: [{ limit: 5, window: "1m" }],
  bucket: [{ algorithm: "token-bucket", limit: 6, window: "1m", burst: 4 }],
  calendar: [{ algorithm: "calendar", limit: 7, window: "day", zone: "Europe/Berlin" }],
  fixed: [{ algorithm: "fixed-window", limit: 6, window: "90s" }],
  both: [
    { algorithm: "sliding-log", limit: 4, window: "30s" },
    { limit: 9, window: "2m", buckets: 6 },
  ],
};

beforeEach(() => {
  const send = fetch;
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    const body = JSON.parse(init.body as string) as unknown[];
    const now = 3 + Number(body[2]);
    if (/^eval/i.test(String(body[0])) && body[now] === 0) body[now] = Date.now();
    return send(url, { ...init, body: JSON.stringify(body) });
  });
  const startTimer = setTimeout;
  vi.stubGlobal("setTimeout", (run: () => void, ms = 0) =>
    startTimer(() => {
      // Longer ones are budgets, and timers of fetch.
      if (ms < HELD_MS) vi.setSystemTime(Date.now() + ms);
      run();
    }, ms),
  );
  vi.useFakeTimers({ now: START_MS, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** What a client was told. */
interface Told {
  readonly decision: Decision;
  /** The instant that the field names, which counts in seconds. */
  readonly toldMs: number;
}

/** An isolate that knows nothing yet. */
function startIsolate(policies: readonly PolicyInput[]) {
  let last: Decision | undefined;
  const onDecision = (decision: Decision) => {
    last = decision;
  };
  const store = redisStore({ url: inject("restUrl"), token: inject("restToken"), timeoutMs: 30_000 });
  const limiter = createLimiter({ policies, store, onDecision });
  const app = new Hono().use(rateLimit(limiter)).get("*", (c) => c.text("hello"));
  return async (cost: number, atMs: number): Promise<Told> => {
    vi.setSystemTime(atMs);
    const { status, headers } = await app.request(`/${cost}`, { headers: { "x-user": "ann" } });
    const { retryAfterMs } = last!;
    expect(status).toBe(last!.allowed ? 200 : 429);
    const retryAfter = Number(headers.get("Retry-After"));
    expect(retryAfter).toBe(Math.ceil((retryAfterMs ?? Number.NaN) / SECOND_MS));
    return { decision: last!, toldMs: atMs + retryAfter * SECOND_MS };
  };
}

/** The policies of a chain, and one beside it. */
function chainOf(kinds: readonly string[]): PolicyInput[] {
  const names = kinds.map(uniqueName);
  const chain = kinds.map((kind, i): PolicyInput => {
    const overflow = names[i + 1] !== undefined && { overflow: names[i + 1]! };
    const head = i === 0 && { cost: [2, 3].map((cost) => ({ path: `/${cost}`, cost })) };
    return { name: names[i]!, key: i === 0 ? "header:x-user" : "global", limits: LINKS[kind]!, ...overflow, ...head };
  });
  return [...chain, { name: uniqueName("site"), key: "global", limits: [{ limit: 9, window: "10s" }] }];
}

/** The first one has a link of each kind but one. `npm run test:long` tells all of them. */
const CHAINS: readonly (readonly [kinds: string[], seed: number])[] = [
  [["bucket", "small", "calendar", "window"], 4],
  [["both", "bucket", "fixed", "calendar"], 6],
  [["window", "bucket"], 1],
  [["bucket", "window", "calendar"], 2],
  [["calendar", "fixed"], 3],
  [["fixed", "both", "calendar"], 5],
];
it.each(firstOf(CHAINS))(
  "refused before the told wait, admitted at it, from Redis and from memory: %s",
  async (kinds, seed) => {
    const random = mulberry32(seed);
    const upTo = (most: number) => Math.floor(random() * (most + 1));
    const policies = chainOf(kinds);
    const ask = startIsolate(policies);
    const payers = new Set<string>();
    let [nowMs, refusals, remembered] = [START_MS, 0, 0];
    for (let i = 0; i < 40; i++) {
      nowMs += upTo(2) * upTo(3_000);
      const cost = 1 + upTo(2);
      const first = await ask(cost, nowMs);
      if (first.decision.paidBy) payers.add(first.decision.paidBy);
      if (first.decision.allowed) continue;
      refusals += 1;
      // Another isolate has nothing in memory: Redis tells it the end of the wait.
      const other = startIsolate(policies);
      const { decision, toldMs } = await other(cost, nowMs);
      expect(decision).toMatchObject({ outcome: "refused", source: "redis" });
      const endsMs = nowMs + decision.retryAfterMs!;

      const againMs = Math.max(nowMs, Math.min(nowMs + upTo(4_000), endsMs - HELD_MS));
      const again = await ask(cost, againMs);
      for (const [{ decision }, atMs] of [
        [first, nowMs],
        [again, againMs],
      ] as const) {
        const late = atMs + decision.retryAfterMs! - endsMs;
        const isRemembered = decision.source === "cache";
        if (isRemembered) remembered += 1;
        expect(late).toBeGreaterThanOrEqual(0);
        expect(late).toBeLessThanOrEqual(isRemembered ? CLOCK_MS : 0);
      }
      for (const beforeMs of [Math.min(toldMs - SECOND_MS, endsMs - HELD_MS), endsMs - HELD_MS].filter(
        (atMs) => atMs > againMs,
      )) {
        for (const isolate of [ask, other]) expect((await isolate(cost, beforeMs)).decision.outcome).toBe("refused");
      }
      nowMs = i % 2 === 0 ? endsMs : toldMs;
      expect((await (i % 3 === 0 ? other : ask)(cost, nowMs)).decision.outcome).toBe("admitted");
      nowMs = Date.now();
    }
    expect(refusals).toBeGreaterThan(5);
    expect(remembered).toBeGreaterThan(2);
    expect(payers.size).toBe(kinds.length);
  },
);
