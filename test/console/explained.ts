// Decisions that the fake gateway can explain, by token.

import type { Explained } from "../../console/src/api.ts";

const KEY = "8fQkTHbTYbSrPHfiyuUwZw";

export const EXPLAINED: Readonly<Record<string, Explained>> = {
  "token-of-a-refusal": {
    at: new Date(Date.now() - 42_000).toISOString(),
    region: "eu",
    source: "cache",
    event: "refused",
    method: "POST",
    path: "/login",
    version: 8,
    policies: [{ policy: "login", kind: "ip", key: KEY, cost: 1 }],
    limits: [
      {
        ...{ id: "login-1", policy: "login", limit: 5, per: "per 1m" },
        ...{ remaining: 0, retryAfterMs: 12_400, resetAfterMs: 58_000 },
      },
      {
        ...{ id: "login-2", policy: "login", limit: 20, per: "per 1h" },
        ...{ remaining: 9, retryAfterMs: 0, resetAfterMs: 3_410_000 },
      },
    ],
    violated: ["login-1"],
    shadow: [],
    retryAfterMs: 12_400,
  },
  "token-of-a-month": {
    at: "2026-11-24T08:00:00.000Z",
    region: "na",
    source: "redis",
    event: "refused",
    method: "GET",
    path: "/calls",
    version: 0,
    policies: [{ policy: "calls", kind: "ip", key: KEY, cost: 1 }],
    limits: [
      {
        ...{ id: "calls", policy: "calls", limit: 10_000, per: "per month from the 15th, America/Los_Angeles" },
        remaining: 0,
        ...{ retryAfterMs: 21 * 86_400_000, resetAfterMs: 21 * 86_400_000 },
      },
    ],
    violated: ["calls"],
    shadow: [],
    retryAfterMs: 21 * 86_400_000,
  },
  "token-of-a-chain": {
    at: "2026-11-24T08:00:00.000Z",
    region: "eu",
    source: "redis",
    event: "refused",
    method: "POST",
    path: "/mcp",
    calls: ["tools/call search", "?"],
    version: 3,
    policies: [
      { policy: "plan", kind: "jwt:sub", key: KEY, cost: 11 },
      { policy: "team", kind: "jwt:org", key: KEY, cost: 11, overflowOf: "plan" },
    ],
    limits: [
      {
        ...{ id: "team", policy: "team", limit: 100, per: "per 1h" },
        ...{ remaining: 3, retryAfterMs: 600_000, resetAfterMs: 600_000 },
      },
    ],
    violated: ["team"],
    shadow: [],
    retryAfterMs: 600_000,
  },
  "token-without-space": {
    at: new Date(Date.now() - 5_000).toISOString(),
    region: "eu",
    source: "fallback",
    event: "refused",
    method: "GET",
    path: "/v1/items",
    version: null,
    policies: [{ policy: "api", kind: "ip", key: KEY, cost: 1 }],
    limits: [],
    violated: ["api-2"],
    shadow: [],
    failure: "TIMEOUT",
    omitted: { policies: 1, limits: 9 },
  },
  "token-of-a-block": {
    at: new Date(Date.now() - 3_000).toISOString(),
    region: "na",
    source: "live",
    event: "blocked",
    method: "GET",
    path: "/v1/items",
    version: 9,
    policies: [{ policy: "api", kind: "ip", key: KEY, cost: 1 }],
    limits: [],
    violated: [],
    shadow: [],
    retryAfterMs: 1_200_000,
  },
};
