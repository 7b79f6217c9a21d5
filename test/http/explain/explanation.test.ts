// What is packed into a token, and what is left out if it does not fit.

import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { LimitDecision, RefusedDecision } from "../../../src/core/decision.ts";
import type { Policy } from "../../../src/core/policy.ts";
import { type Explained, pack, unpack } from "../../../src/http/explain/explanation.ts";
import { MAX_TEXT_BYTES } from "../../../src/http/explain/token.ts";
import { checkedPolicies } from "../../limiter/live/policies.ts";

const AT_MS = Date.UTC(2026, 10, 22, 12);
const KEY = "NTQkC_THbTYbSrPHfiyuUw";
const request = new Request(`https://gate.example/${"long/".repeat(100)}?secret=1`, { method: "DELETE" });

function limitOf(policy: Policy, at: number, told: Partial<LimitDecision> = {}): LimitDecision {
  const limit = policy.limits[at]!;
  return { policy, limit, admitted: true, remaining: limit.limit, retryAfterMs: 0, resetAfterMs: 60_000, ...told };
}

/** @param retryAfterMs absent: never. */
function explained(
  policies: readonly Policy[],
  all: readonly LimitDecision[],
  wait: Pick<RefusedDecision, "retryAfterMs"> = { retryAfterMs: 1_234 },
): Explained {
  const limits = all.filter(({ policy }) => policy.mode === "enforce");
  const shadow = all.filter(({ policy }) => policy.mode === "shadow");
  const takes = policies.map((policy) => ({ policy, kind: "ip", partition: KEY, cost: 1 }));
  const decision = { outcome: "refused", allowed: false, source: "redis", limits, shadow, ...wait } as const;
  return { atMs: AT_MS, decision, context: { takes, region: "eu" }, version: undefined };
}

it("has every algorithm, a wait that never ends, and a shortened path without its query", () => {
  const names = ["sliding-window", "fixed-window", "sliding-log", "token-bucket", "leaky-bucket"];
  const limits = [
    ...names.map((algorithm) => ({ algorithm, limit: 9, window: "1m" })),
    { algorithm: "concurrency", limit: 9 },
    { algorithm: "calendar", limit: 9, window: "month", zone: "America/Los_Angeles", monthDay: 15 },
  ];
  // Buckets of the same window share a count.
  limits[4] = { algorithm: "leaky-bucket", limit: 9, window: "2m" };
  const policies = checkedPolicies([{ name: "api", limits }] as never);
  const all = policies[0]!.limits.map((_, at) => limitOf(policies[0]!, at));
  const { retryAfterMs: _, ...never } = limitOf(policies[0]!, 0, { admitted: false, remaining: 3 });
  all[0] = never;
  const told = unpack(pack(explained(policies, all, {}), request));
  expect(told.limits.map(({ algorithm }) => algorithm).sort()).toEqual([...names, "concurrency", "calendar"].sort());
  expect(told.limits[0]).toEqual({
    ...{ id: "api-1", policy: "api", limit: 9, per: "per 1m", algorithm: "sliding-window", admitted: false },
    ...{ remaining: 3, resetAfterMs: 60_000, shadow: false },
  });
  expect(
    told.limits
      .slice(-3)
      .map(({ per }) => per)
      .sort(),
  ).toEqual(["at once, freed after 1m", "per 2m", "per month from the 15th, America/Los_Angeles"]);
  expect(told).toMatchObject({ at: "2026-11-22T12:00:00.000Z", violated: ["api-1"], version: null, method: "DELETE" });
  expect(told.path).toBe(`/${"long/".repeat(100)}`.slice(0, 200));
  expect(told).not.toHaveProperty("retryAfterMs");
  expect(told).not.toHaveProperty("omitted");
});

it("fits, whatever there are of limits: what refused comes first, and what is left out is counted", () => {
  const limit = (i: number) => ({ limit: 1_000_000 + i, window: `${i + 1}m` });
  const policyOf = (i: number) => ({
    name: `a-policy-with-a-long-name-${String(i).padStart(4, "0")}`,
    ...(i % 3 === 2 && { mode: "shadow" }),
    limits: Array.from({ length: 8 }, (_, at) => limit(at)),
  });
  const configured = checkedPolicies(Array.from({ length: 100 }, (_, i) => policyOf(i)) as never);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 0, max: 799 }),
      fc.nat(),
      (count, refusing, seed) => {
        const policies = configured.slice(0, count);
        const all = policies.flatMap((policy) => policy.limits.map((_, at) => limitOf(policy, at)));
        const at = refusing % all.length;
        all[at] = { ...all[at]!, admitted: false, remaining: seed % 5, retryAfterMs: 2_678_400_000 };
        const text = pack(explained(policies, all), request);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_TEXT_BYTES);
        const told = unpack(text);
        const { omitted = { policies: 0, limits: 0 } } = told;
        expect([told.policies.length + omitted.policies, told.limits.length + omitted.limits]).toEqual([
          count,
          all.length,
        ]);
        if (all[at]!.policy.mode === "enforce") expect(told.violated).toEqual([all[at]!.limit.id]);
        expect(told.limits.length).toBeGreaterThanOrEqual(Math.min(8, all.length));
      },
    ),
  );
});
