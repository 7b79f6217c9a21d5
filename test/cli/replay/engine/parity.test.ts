// The replay decides as the limiter of the gateway does: the same requests through both, over random policies.

import fc from "fast-check";
import { afterEach, expect, it, vi } from "vitest";
import { ConfigurationRun } from "../../../../src/cli/replay/engine/configuration-run.ts";
import type { LogEntry } from "../../../../src/cli/replay/log/format.ts";
import { parsePolicies } from "../../../../src/config/policies.ts";
import type { Settings } from "../../../../src/config/settings.ts";
import type { Decision, Hold } from "../../../../src/core/decision.ts";
import type { Policy } from "../../../../src/core/policy.ts";
import { clientKey, namedPlan } from "../../../../src/http/key.ts";
import { compileMatcher } from "../../../../src/http/match.ts";
import { regionOf } from "../../../../src/http/region.ts";
import type { LiveDocument } from "../../../../src/limiter/live/document.ts";
import { withLive } from "../../../../src/limiter/live/with-live.ts";
import { limiterOf } from "../../../../src/limiter.ts";
import { partitionHasher } from "../../../../src/partition/hash.ts";
import { memoryLive } from "../../../../src/store/live.ts";
import { memoryStore } from "../../../../src/store/memory.ts";
import { draws } from "../../../support/cases/draws.ts";
import { configuration, requestAt, runOptions, SECRET, START_MS } from "./logs.ts";

const IPS = ["192.0.2.1", "192.0.2.2", "2001:db8::1"];
const USERS = ["ann", "bob"];
const KEYS = [["ip"], ["bearer", "ip"], ["header:x-user+ip", "header:x-user"], ["query:u", "global"], ["region"]];

/** From an overload of one client within a window to windows that nobody fills. */
const window = fc.constantFrom("100ms", "700ms", "1s", "2500ms", "10s");
const number = fc.integer({ min: 1, max: 8 });
const scope = fc.constantFrom("global", "region");
const limit = fc.oneof(
  fc.record({ limit: number, window, scope, oldest: fc.constantFrom("weighted", "whole") }),
  fc.record({ limit: number, window: fc.constantFrom("1s", "2500ms"), buckets: fc.constantFrom(2, 5), scope }),
  fc.record({ algorithm: fc.constant("fixed-window"), limit: number, window, scope }),
  fc.record({ algorithm: fc.constant("sliding-log"), limit: number, window, scope }),
  fc.record({ algorithm: fc.constant("token-bucket"), limit: number, burst: number, window, scope }),
  fc.record({ algorithm: fc.constant("leaky-bucket"), limit: number, window, maxDelay: fc.constant("300ms"), scope }),
  fc.record({ algorithm: fc.constant("concurrency"), limit: fc.integer({ min: 1, max: 3 }), timeout: window, scope }),
);

function policy(name: string) {
  return fc
    .record({
      match: fc.constantFrom({}, { path: "/v1/*" }, { method: "POST" }),
      key: fc.constantFrom(...KEYS),
      cost: fc.constantFrom([], [{ method: "POST", cost: 2 }], [{ path: "/v1/free", cost: 0 }]),
      mode: fc.constantFrom("enforce", "enforce", "shadow"),
      limits: fc.array(limit, { minLength: 1, maxLength: 3 }),
      plan: fc.constant("header:x-plan"),
      pro: number,
    })
    .map(({ pro, ...fields }) => ({
      ...fields,
      name,
      plans: { pro: { [fields.limits.length === 1 ? name : `${name}-1`]: pro } },
    }));
}

const policies = fc
  .tuple(policy("one"), policy("two"), policy("three"))
  .chain((all) => fc.shuffledSubarray(all, { minLength: 1 }))
  .filter((all) => !parsePolicies(all, "POLICIES").mistakes);

const request = fc.record({
  passedMs: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 60 }) }, fc.integer({ min: 0, max: 3_000 })),
  method: fc.constantFrom("GET", "POST"),
  path: fc.constantFrom("/v1/things", "/v1/free", "/other?u=ann"),
  ip: fc.constantFrom(...IPS),
  user: fc.constantFrom("", ...USERS),
  plan: fc.constantFrom("", "", "pro", "other"),
  continent: fc.constantFrom("EU", "NA"),
  durationMs: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 6_000 })),
});

/** Requests of several seconds, some of them in one millisecond. */
const entries = fc.array(request, { minLength: 100, maxLength: 200, size: "max" }).map((all) => {
  let afterMs = 0;
  return all.map(({ passedMs, method, path, ip, user, plan, continent, durationMs }) => {
    afterMs += passedMs;
    const url = `https://api.example.com${path}`;
    const headers = { Authorization: `Bearer ${user}`, "X-User": user, "X-Plan": plan };
    return requestAt(afterMs, { method, url, ip, headers, cf: { continent }, durationMs });
  });
});

/** What operators change, for a client among others. Undefined: there is no document. */
const live = fc.option(
  fc.record({
    mode: fc.constantFrom("enforce" as const, "shadow" as const),
    overrides: fc.array(
      fc.record({
        policy: fc.constantFrom("one", "two", "three"),
        client: fc.constantFrom(...IPS),
        untilMs: fc.option(fc.integer({ min: START_MS, max: START_MS + 60_000 }), { nil: undefined }),
        effect: fc.oneof(
          fc.constantFrom({ block: true as const }, { exempt: true as const }, { plan: "pro" }),
          fc.constantFrom({ factor: 0.5 }, { factor: 3 }, { limits: { one: 2, "one-1": 2, two: 5, "three-2": 1 } }),
        ),
      }),
      { maxLength: 4 },
    ),
  }),
  { nil: undefined },
);

afterEach(() => {
  vi.useRealTimers();
});

it("admits and refuses what the limiter admits and refuses", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const hash = partitionHasher(SECRET, "");
  await fc.assert(
    fc.asyncProperty(policies, entries, live, async (policies, entries, live) => {
      const { settings } = configuration(policies);
      const overrides = (live?.overrides ?? []).map(async ({ policy, client, untilMs, effect }) => ({
        ...{ policy, kind: "ip", ...effect },
        key: await hash({ kind: "ip", values: [client] }),
        ...(untilMs !== undefined && { until: new Date(untilMs).toISOString() }),
      }));
      const document = live && { policies: { one: { mode: live.mode } }, overrides: await Promise.all(overrides) };
      const expected = await limited(settings, entries, document);
      expect(replayed(settings, entries, document)).toEqual(expected);
    }),
    draws(60),
  );
});

/** For each request: whether it was admitted, and the policies that refused. */
type Outcome = readonly [allowed: boolean, refusedBy: readonly string[]];

function replayed(settings: Settings, entries: readonly LogEntry[], live: LiveDocument | undefined): Outcome[] {
  const options = runOptions();
  const run = new ConfigurationRun({ name: "", settings, ...(live && { live }) }, options);
  return entries.map((entry, request) => {
    run.decide(entry, request, entry.atMs, options.axis.stepOf(entry.atMs));
    const refusing = run.takes.filter(({ refused }) => refused);
    return [run.allowed, refusing.map((take) => take.run.policy.name)];
  });
}

/** What happens to the slots of a request. */
interface InFlight {
  atMs: number;
  readonly endMs: number;
  readonly hold: Hold;
}

/** The same through the limiter over a memory store, by a clock that follows the log. */
async function limited(
  settings: Settings,
  entries: readonly LogEntry[],
  live: LiveDocument | undefined,
): Promise<Outcome[]> {
  vi.useFakeTimers({ toFake: ["Date"], now: entries[0]!.atMs });
  const storage = memoryLive();
  if (live) await storage.write(JSON.stringify(live), 0);
  const store = withLive({ ...memoryStore({ maxKeys: 10_000 }), live: storage });
  let blockedBy: readonly string[] = [];
  const limiter = limiterOf(settings.policies, {
    store,
    keySecret: SECRET,
    ...(live && { liveRefreshMs: 1e9 }),
    onDecision: (_decision, context) => {
      blockedBy = context.blocked ?? [];
    },
  });
  const match = compileMatcher(settings.policies);
  const inFlight: InFlight[] = [];

  const outcomes: Outcome[] = [];
  for (const { atMs, head, durationMs } of entries) {
    await settleUntil(inFlight, atMs);
    vi.setSystemTime(atMs);
    const region = () => regionOf(head, settings.region, settings.regions);
    const takes = match(head).map(({ policy, cost }) => {
      const plan = policy.plan && namedPlan(policy.plan, head, region);
      return { policy, cost, key: clientKey(policy.key, head, region), plan };
    });
    blockedBy = [];
    const decision = await limiter.takeMatched(takes, region);
    outcomes.push([decision.allowed, refusing(settings.policies, decision, blockedBy)]);
    const { hold } = decision;
    if (!hold) continue;
    const endMs = atMs + durationMs!;
    inFlight.push({ atMs: Math.min(endMs, atMs + Math.floor(hold.renewEveryMs)), endMs, hold });
  }
  return outcomes;
}

function refusing(policies: readonly Policy[], { limits, shadow }: Decision, blockedBy: readonly string[]): string[] {
  const refused = [...limits, ...shadow].filter(({ admitted }) => !admitted).map(({ policy }) => policy.name);
  return policies.map(({ name }) => name).filter((name) => refused.includes(name) || blockedBy.includes(name));
}

/** Renews and releases slots in the order of time, as the gateway's timers do. */
async function settleUntil(inFlight: InFlight[], untilMs: number): Promise<void> {
  for (;;) {
    const next = inFlight.reduce((first, one) => (one.atMs < first.atMs ? one : first), inFlight[0]!);
    if (!next || next.atMs > untilMs) return;
    vi.setSystemTime(next.atMs);
    if (next.atMs < next.endMs) {
      await next.hold.renew();
      next.atMs = Math.min(next.endMs, next.atMs + Math.floor(next.hold.renewEveryMs));
    } else {
      await next.hold.release();
      inFlight.splice(inFlight.indexOf(next), 1);
    }
  }
}
