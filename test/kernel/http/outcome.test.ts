// What follows from each outcome of a decision: the answer, the log line, the metrics and the explanation.

import { expect, it } from "vitest";
import { memoryLive } from "../../../src/kernel/store/live.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createExplain } from "../../../src/operate/explain.ts";
import { logDecisions } from "../../../src/operate/log.ts";
import { countDecision } from "../../../src/operate/stats/count.ts";
import { Tally } from "../../../src/operate/stats/tally.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { checkedPolicies } from "../../features/live/policies.ts";
import { createEnforce } from "../../support/http/enforce.ts";
import { limiterOf } from "../../support/limiter.ts";

const ADDRESS = "192.0.2.1";
const POLICIES = checkedPolicies([
  { name: "small", onStoreFailure: "deny", limits: [{ limit: 2, window: "31d" }] },
  { name: "large", limits: [{ limit: 100, window: "31d" }] },
  { name: "trial", mode: "shadow", limits: [{ limit: 1, window: "31d" }] },
]);

interface Situation {
  /** The requests of the client that came before. */
  readonly before?: number;
  readonly override?: object;
  readonly isAway?: boolean;
}

/** What follows from a request. */
async function following({ before = 0, override, isAway = false }: Situation) {
  const memory = memoryStore();
  const away: Store["take"] = () => Promise.reject(new StoreError("NETWORK"));
  const live = memoryLive();
  const explain = createExplain({ keySecret: "k".repeat(32), fallback: "", version: () => undefined });
  let tally = new Tally(0);
  let events: string[] = [];
  const limiter = limiterOf(POLICIES, {
    store: remoteStore({ ...memory, kind: "redis", take: isAway ? away : memory.take, live }),
    liveRefreshMs: 30_000,
    onDecision: [
      logDecisions((line) => void events.push(JSON.parse(line).event)),
      explain.onDecision,
      (decision, context) => countDecision(tally, decision, context),
    ],
  });
  const { kind, partition: key } = await limiter.client("small", { kind: "ip", key: ADDRESS });
  const overrides = override ? [{ policy: "small", kind, key, ...override }] : [];
  await live.write(JSON.stringify({ policies: {}, overrides }), 0);
  const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu", rules: explain.rules });
  const send = () => {
    const request = new Request("https://gate.example/", { headers: { "CF-Connecting-IP": ADDRESS } });
    return enforce(request, () => new Response(), undefined);
  };
  for (let i = 0; i < before; i++) await send();
  [tally, events] = [new Tally(0), []];

  const { status, headers } = await send();
  const token = headers.get("Headgate-Explain");
  const explained = token === null ? undefined : await explain.read(token);
  const counted = Object.keys(tally.counts().sums).filter((series) => series.startsWith("decisions\t"));
  return {
    status,
    hasFields: headers.has("RateLimit"),
    shouldRetry: headers.get("X-Should-Retry"),
    events,
    outcomes: Object.fromEntries(
      counted.map((series) => series.split("\t")).map(([, name, , outcome]) => [name, outcome]),
    ),
    explained: explained && "violated" in explained ? [explained.source, ...explained.violated] : undefined,
  };
}

it("admitted", async () => {
  const all = { small: "admitted", large: "admitted", trial: "admitted" };
  const answer = { status: 200, hasFields: true, shouldRetry: null };
  expect(await following({})).toEqual({ ...answer, events: [], outcomes: all });
  // The policy in shadow would have refused.
  const inShadow = { ...all, trial: "shadow_refused" };
  expect(await following({ before: 1 })).toEqual({ ...answer, events: ["shadow-refused"], outcomes: inShadow });
});

it("refused", async () => {
  expect(await following({ before: 2 })).toEqual({
    status: 429,
    hasFields: true,
    shouldRetry: "false",
    events: ["refused"],
    outcomes: { small: "refused", large: "spared", trial: "shadow_refused" },
    explained: ["cache", "small"],
  });
});

it("blocked", async () => {
  expect(await following({ override: { block: true } })).toEqual({
    status: 403,
    hasFields: false,
    shouldRetry: "false",
    events: ["blocked"],
    outcomes: { small: "blocked", large: "spared", trial: "spared" },
    explained: ["live"],
  });
});

it("unavailable", async () => {
  expect(await following({ isAway: true })).toEqual({
    status: 503,
    hasFields: false,
    shouldRetry: null,
    events: ["refused"],
    outcomes: { small: "unavailable", large: "unavailable", trial: "unavailable" },
    explained: ["fallback"],
  });
});
