// Decisions that the fake gateway can explain, by token.

import type { Explained } from "../../console/src/api.ts";

const KEY = "8fQkTHbTYbSrPHfiyuUwZw";

/** What every decision has; most of it is seldom of interest. */
const REFUSED = { event: "refused", region: "eu", source: "redis" as const, version: 3, shadow: [] as string[] };
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const DAYS_21 = 21 * 86_400_000;
const MONTH = "per month from the 15th, America/Los_Angeles";
const times = (retryAfterMs: number, resetAfterMs = retryAfterMs) => ({ retryAfterMs, resetAfterMs });

export const EXPLAINED: Readonly<Record<string, Explained>> = {
  "token-of-a-refusal": {
    ...{ ...REFUSED, at: ago(42_000), source: "cache", method: "POST", path: "/login", version: 8 },
    policies: [{ policy: "login", kind: "ip", key: KEY, cost: 1 }],
    limits: [
      { id: "login-1", policy: "login", limit: 5, per: "per 1m", remaining: 0, ...times(12_400, 58_000) },
      { id: "login-2", policy: "login", limit: 20, per: "per 1h", remaining: 9, ...times(0, 3_410_000) },
    ],
    violated: ["login-1"],
    retryAfterMs: 12_400,
  },
  "token-of-a-month": {
    ...{ ...REFUSED, at: "2026-11-24T08:00:00.000Z", region: "na", method: "GET", path: "/calls", version: 0 },
    policies: [{ policy: "calls", kind: "ip", key: KEY, cost: 1 }],
    limits: [{ id: "calls", policy: "calls", limit: 10_000, per: MONTH, remaining: 0, ...times(DAYS_21) }],
    violated: ["calls"],
    retryAfterMs: DAYS_21,
  },
  "token-of-a-chain": {
    ...{ ...REFUSED, at: "2026-11-24T08:00:00.000Z", method: "POST", path: "/mcp" },
    calls: ["tools/call search", "?"],
    policies: [
      { policy: "plan", kind: "jwt:sub", key: KEY, cost: 11 },
      { policy: "team", kind: "jwt:org", key: KEY, cost: 11, overflowOf: "plan" },
    ],
    limits: [{ id: "team", policy: "team", limit: 100, per: "per 1h", remaining: 3, ...times(600_000) }],
    violated: ["team"],
    retryAfterMs: 600_000,
  },
  "token-without-space": {
    ...{ ...REFUSED, at: ago(5_000), source: "fallback", method: "GET", path: "/v1/items", version: null },
    policies: [{ policy: "api", kind: "ip", key: KEY, cost: 1 }],
    limits: [],
    violated: ["api-2"],
    failure: "TIMEOUT",
    omitted: { policies: 1, limits: 9 },
  },
  "token-of-a-block": {
    ...{ ...REFUSED, at: ago(3_000), region: "na", source: "live", method: "GET", path: "/v1/items", version: 9 },
    event: "blocked",
    policies: [{ policy: "api", kind: "ip", key: KEY, cost: 1 }],
    limits: [],
    violated: [],
    retryAfterMs: 1_200_000,
  },
};
