// What the token of a refusal tells, to whom and for how long, and what is left out if it does not fit.

import * as fc from "fast-check";
import { expect, it, vi } from "vitest";
import type { LimitDecision, RefusedDecision } from "../../src/kernel/core/decision.ts";
import type { Policy } from "../../src/kernel/core/policy.ts";
import { FetchPassage } from "../../src/kernel/http/passage.ts";
import type { DecisionContext } from "../../src/limiter.ts";
import { createExplain, type Explain } from "../../src/operate/explain.ts";
import { checkedPolicies } from "../features/live/policies.ts";
import { draws } from "../support/cases/draws.ts";

const KEY = "NTQkC_THbTYbSrPHfiyuUw";
const explainOf = (keySecret = "a key secret of the operator") => {
  return createExplain({ keySecret, fallback: "unused", version: () => 3 });
};

function limitOf(policy: Policy, at: number, told: Partial<LimitDecision> = {}): LimitDecision {
  const limit = policy.limits[at]!;
  return { policy, limit, admitted: true, remaining: limit.limit, retryAfterMs: 0, resetAfterMs: 60_000, ...told };
}

/** The token of a refusal. @param retryAfterMs absent: never. */
async function tokenOf(
  explain: Explain,
  policies: readonly Policy[],
  all: readonly LimitDecision[],
  wait: Pick<RefusedDecision, "retryAfterMs"> = { retryAfterMs: 1_234 },
  request = new Request(`https://gate.example/${"long/".repeat(100)}?secret=1`, { method: "DELETE" }),
): Promise<string> {
  const limits = all.filter(({ policy }) => policy.mode === "enforce");
  const shadow = all.filter(({ policy }) => policy.mode === "shadow");
  const takes = policies.map((policy) => ({ policy, kind: "ip", partition: KEY, cost: 1 }));
  const refused = { outcome: "refused", allowed: false, source: "redis", policies: [] } as const;
  const decision = { ...refused, limits, shadow, ...wait };
  const context: DecisionContext = { takes, region: "eu" };
  explain.onDecision(decision, context);
  explain.rules.onDecision!(decision, request, new FetchPassage(request, () => new Response()));
  const answer = await explain.rules.response!(decision, request, new Response());
  return answer.headers.get("Headgate-Explain")!;
}

async function told(explain: Explain, token: string) {
  const found = await explain.read(token);
  if ("wrong" in found) throw new Error(found.wrong);
  return found;
}

const [API] = checkedPolicies([{ name: "api", limits: [{ limit: 9, window: "1m" }] }]) as [Policy];
const REFUSED = limitOf(API, 0, { admitted: false, remaining: 3, retryAfterMs: 500 });

it("is the line of the log, and what was asked for: a wait that never ends, a short path without its query", async () => {
  const names = ["sliding-window", "fixed-window", "sliding-log", "token-bucket"];
  const limits = [
    ...names.map((algorithm) => ({ algorithm, limit: 9, window: "1m" })),
    // Buckets of the same window share a count.
    { algorithm: "leaky-bucket", limit: 9, window: "2m" },
    { algorithm: "concurrency", limit: 9 },
    { algorithm: "calendar", limit: 9, window: "month", zone: "America/Los_Angeles", monthDay: 15 },
  ];
  const explain = explainOf();
  const periods: string[] = [];
  for (const limit of limits) {
    const policies = checkedPolicies([{ name: "api", limits: [limit] }] as never);
    const { retryAfterMs: _, ...never } = limitOf(policies[0]!, 0, { admitted: false, remaining: 3 });
    const found = await told(explain, await tokenOf(explain, policies, [never], {}));
    const [{ per, ...numbers }, ...others] = found.limits as [(typeof found.limits)[number]];
    expect([numbers, others]).toEqual([{ id: "api", policy: "api", limit: 9, remaining: 3, resetAfterMs: 60_000 }, []]);
    periods.push(per);
    const { at, ...rest } = found;
    expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000);
    expect(rest).toEqual({
      ...{ event: "refused", region: "eu", source: "redis", violated: ["api"], shadow: [], version: 3 },
      policies: [{ policy: "api", kind: "ip", key: KEY, cost: 1 }],
      limits: found.limits,
      ...{ method: "DELETE", path: `/${"long/".repeat(100)}`.slice(0, 200) },
    });
  }
  expect(periods.sort()).toEqual([
    "at once, freed after 1m",
    ...names.map(() => "per 1m"),
    "per 2m",
    "per month from the 15th, America/Los_Angeles",
  ]);
});

it("fits, whatever there are of limits: what refused comes first, and what is left out is counted", async () => {
  const limit = (i: number) => ({ limit: 1_000_000 + i, window: `${i + 1}m` });
  const policyOf = (i: number) => ({
    name: `a-policy-with-a-long-name-${String(i).padStart(4, "0")}`,
    ...(i % 3 === 2 && { mode: "shadow" }),
    limits: Array.from({ length: 8 }, (_, at) => limit(at)),
  });
  const configured = checkedPolicies(Array.from({ length: 100 }, (_, i) => policyOf(i)) as never);
  const explain = explainOf();
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        count: fc.integer({ min: 1, max: 100 }),
        refusing: fc.integer({ min: 0, max: 799 }),
        seed: fc.nat(),
      }),
      async ({ count, refusing, seed }) => {
        const policies = configured.slice(0, count);
        const all = policies.flatMap((policy) => policy.limits.map((_, at) => limitOf(policy, at)));
        const at = refusing % all.length;
        all[at] = { ...all[at]!, admitted: false, remaining: seed % 5, retryAfterMs: 2_678_400_000 };
        const token = await tokenOf(explain, policies, all);
        expect(token.length).toBeLessThanOrEqual(2_048);
        const found = await told(explain, token);
        const { omitted = { policies: 0, limits: 0 } } = found;
        const counts = [found.policies.length + omitted.policies, found.limits.length + omitted.limits];
        expect(counts).toEqual([count, all.length]);
        // Each limit that is told has its policy beside it.
        const names = found.policies.map(({ policy }) => policy);
        expect(found.limits.filter(({ policy }) => !names.includes(policy))).toEqual([]);
        const { policy, limit } = all[at]!;
        if (policy.mode === "enforce") expect([found.violated, found.limits[0]!.id]).toEqual([[limit.id], limit.id]);
        else expect([found.violated, found.shadow]).toEqual([[], [limit.id]]);
        expect(found.limits.length).toBeGreaterThanOrEqual(3);
      },
    ),
    draws(100),
  );
});

it("can be read for 10 minutes, over the change of the key, and by an isolate whose clock is behind", async () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 22, 12, 59, 59, 400), toFake: ["Date"] });
  const nowMs = Date.now();
  const explain = explainOf();
  const token = await tokenOf(explain, [API], [REFUSED]);
  // With the key of the next hour, and back again.
  for (const afterMs of [0, 700, 599_000, -30_000])
    for (const reader of [explain, explainOf()])
      expect(await reader.read(token, nowMs + afterMs)).toMatchObject({ violated: ["api"] });
  for (const afterMs of [601_000, 3_600_000, 86_400_000])
    expect(await explain.read(token, nowMs + afterMs)).toEqual({ wrong: "old" });
  expect(await explain.read(token, nowMs - 61_000)).toEqual({ wrong: "foreign" });
  expect(await explainOf("another secret of an operator").read(token, nowMs)).toEqual({ wrong: "foreign" });
  vi.setSystemTime(nowMs + 1_000);
  const next = await tokenOf(explain, [API], [REFUSED]);
  for (const one of [token, next]) expect(await explain.read(one)).toMatchObject({ violated: ["api"] });
});
