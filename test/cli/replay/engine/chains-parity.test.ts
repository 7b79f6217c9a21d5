// The replay of chains admits what the limiter admits, and names the same payers: random requests through both.

import fc from "fast-check";
import { afterEach, expect, it, vi } from "vitest";
import { ConfigurationRun } from "../../../../src/cli/replay/engine/configuration-run.ts";
import { parsePolicies } from "../../../../src/config/policies.ts";
import type { PolicyInput } from "../../../../src/config/policy-input.ts";
import { withLive } from "../../../../src/limiter/live/with-live.ts";
import { createLimiter, type PolicyTake } from "../../../../src/limiter.ts";
import { partitionHasher } from "../../../../src/partition/hash.ts";
import { memoryLive } from "../../../../src/store/live.ts";
import { memoryStore } from "../../../../src/store/memory.ts";
import { draws, expectReached } from "../../../support/cases/draws.ts";
import { configuration, requestAt, runOptions, SECRET, START_MS } from "./logs.ts";

const number = fc.integer({ min: 1, max: 6 });
const window = fc.constantFrom("700ms", "1s", "2500ms", "10s");
const scope = fc.constantFrom("global", "region");
const limit = fc.oneof(
  fc.record({ limit: number, window, scope }),
  fc.record({ algorithm: fc.constant("fixed-window"), limit: number, window, scope }),
  fc.record({ algorithm: fc.constant("sliding-log"), limit: number, window, scope }),
  fc.record({ algorithm: fc.constant("token-bucket"), limit: number, burst: number, window, scope }),
  fc.record({ algorithm: fc.constant("calendar"), limit: number, window: fc.constant("hour"), scope }),
);
const limits = fc.array(limit, { minLength: 1, maxLength: 2 });
const once = fc.constantFrom({}, { once: "header:x-id", onceFor: "1s", repeats: 2 });

/** For policies that all clients share. */
const times = (factor: number, all: readonly { readonly limit: number }[]) =>
  all.map((one) => ({ ...one, limit: factor * one.limit }));

/** Reads and writes have a policy each, with one team for both. A policy in shadow and an enforced one stand beside. */
const policies = fc
  .record({ read: limits, write: limits, team: limits, company: limits, trial: limits, site: limits, once })
  .map(({ once, ...by }) => [
    { name: "read", key: "header:x-user", match: { path: "/get/*" }, limits: by.read, overflow: "team", ...once },
    { name: "trial", key: "ip", mode: "shadow", limits: by.trial },
    {
      ...{ name: "write", key: "header:x-user", match: { path: "/post/*" }, limits: by.write, overflow: "team" },
      cost: [{ path: "/post/big", cost: 3 }],
    },
    { name: "team", key: "header:x-team", limits: by.team, overflow: "company" },
    { name: "company", key: "global", limits: times(3, by.company) },
    { name: "site", key: "global", limits: times(10, by.site) },
  ])
  .filter((all) => !parsePolicies(all, "POLICIES").mistakes);

const request = fc.record({
  passedMs: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 60 }) }, fc.integer({ min: 0, max: 3_000 })),
  method: fc.constantFrom("GET", "POST"),
  path: fc.constantFrom("/", "/big"),
  user: fc.constantFrom("ann", "bob"),
  team: fc.constantFrom("red", "blue"),
  id: fc.constantFrom("", "1", "2"),
});

/** What operators change. An overflow may be blocked, and the policy before it exempt. */
const overrides = fc.subarray([
  { policy: "read", value: "ann", effect: { exempt: true as const } },
  { policy: "write", value: "bob", effect: { block: true as const } },
  { policy: "team", value: "red", effect: { block: true as const } },
  { policy: "team", value: "blue", effect: { factor: 2 } },
]);

const logs = fc.array(request, { minLength: 50, maxLength: 120, size: "max" });
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

const kindOf = { read: "header:x-user", write: "header:x-user", trial: "ip", team: "header:x-team" } as const;
const IP = "192.0.2.1";

/** What a program says that takes for a request as the gateway does. */
function byHand({ method, path, user, team, id }: Request): PolicyTake[] {
  const matched = method === "GET" ? "read" : "write";
  const head: PolicyTake = {
    ...{ policy: matched, key: user, kind: kindOf[matched], cost: method === "POST" && path === "/big" ? 3 : 1 },
    // An id is that of one method and path.
    ...(id !== "" && { once: `${path} ${id}` }),
  };
  const links: PolicyTake[] = [
    { policy: "team", key: team, kind: kindOf.team },
    { policy: "company", key: "" },
  ];
  const trial: PolicyTake = { policy: "trial", key: IP, kind: "ip" };
  const chain = [head, ...links];
  return [...(matched === "read" ? [...chain, trial] : [trial, ...chain]), { policy: "site", key: "" }];
}

afterEach(() => {
  vi.useRealTimers();
});

it("names the payers that the limiter names", async () => {
  const hash = partitionHasher(SECRET, "");
  const reached = { read: 0, write: 0, team: 0, company: 0, nobody: 0, exempt: 0 };
  vi.useFakeTimers({ toFake: ["Date"], now: START_MS });
  await fc.assert(
    fc.asyncProperty(policies, logs, overrides, async (all, log, changed) => {
      const { settings } = configuration(all, { REGION: "eu" });
      let nowMs = START_MS;
      const counts = memoryStore({ maxKeys: 10_000 });
      const named = changed.map(async ({ policy, value, effect }) => {
        const kind = policy === "team" ? "header:x-team" : "header:x-user";
        return { policy, kind, key: await hash({ kind, values: [value] }), ...effect };
      });
      const live = { policies: {}, overrides: await Promise.all(named) };
      const storage = memoryLive();
      await storage.write(JSON.stringify(live), 0);
      const take: typeof counts.take = (asked) => counts.take(asked, nowMs);
      const store = withLive({ ...counts, take, live: storage });
      const input = { policies: all as readonly PolicyInput[], store, keySecret: SECRET, region: "eu" };
      const limiter = createLimiter({ ...input, live: true });
      const options = runOptions();
      const run = new ConfigurationRun({ name: "", settings, live }, options);

      for (const [i, one] of log.entries()) {
        nowMs += one.passedMs;
        vi.setSystemTime(nowMs);
        const headers = { "X-User": one.user, "X-Team": one.team, "X-Id": one.id };
        const url = `https://api.example.com/${one.method.toLowerCase()}${one.path}`;
        const entry = requestAt(nowMs - START_MS, { method: one.method, url, ip: IP, headers });
        run.decide(entry, i, nowMs, options.axis.stepOf(nowMs));
        const payer = run.allowed ? run.takes.find(({ link }) => link === 0)!.payer?.policy.name : undefined;

        const { allowed, paidBy } = await limiter.take(byHand(one));
        expect([run.allowed, payer]).toEqual([allowed, paidBy]);
        reached[(paidBy as keyof typeof reached) ?? (allowed ? "exempt" : "nobody")]++;
      }
      // Whoever is exempt is counted in no chain.
      const isAnnExempt = changed.some(({ policy }) => policy === "read");
      const counted = log.filter(({ method, user }) => !(isAnnExempt && method === "GET" && user === "ann"));
      const chains = run.summary().chains!;
      const requests = chains.flatMap(({ payers, refused, spared }) => [...payers, refused, spared]);
      expect(requests.reduce((sum, one) => sum + one.requests, 0)).toBe(counted.length);
    }),
    draws(60),
  );
  for (const requests of Object.values(reached)) expectReached(requests, 100);
});
