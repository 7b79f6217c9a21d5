// The policies of the fake gateway: what the console has to show, one of each.

const METER = {
  unit: "usd",
  prices: { "gpt-5-mini": { input: 0.25, output: 2 }, default: { input: 1.25, cachedInput: 0.125, output: 10 } },
} as const;

export const POLICIES = [
  {
    name: "api",
    match: { path: "/v1/*" },
    key: ["bearer", "ip"],
    limits: [
      { limit: 50, window: "1s", scope: "region" },
      { limit: 600, window: "1m" },
    ],
    plans: { pro: { "api-2": 6_000 } },
    plan: "header:x-plan",
  },
  { name: "api-address", match: { path: "/v1/*" }, key: ["ip"], limits: [{ limit: 3_000, window: "1m" }] },
  {
    name: "login",
    match: { method: "POST", path: "/login" },
    key: ["ip"],
    limits: [
      { algorithm: "sliding-log", limit: 5, window: "1m" },
      { algorithm: "sliding-log", limit: 20, window: "1h" },
    ],
    onStoreFailure: "deny",
  },
  {
    name: "burst-trial",
    mode: "shadow",
    match: { path: "/v1/*" },
    key: ["ip"],
    limits: [{ algorithm: "token-bucket", limit: 100, window: "1m", burst: 20 }],
  },
  {
    name: "calls",
    match: { path: "/calls" },
    key: ["ip"],
    limits: [{ algorithm: "calendar", limit: 10_000, window: "month", zone: "America/Los_Angeles", monthDay: 15 }],
  },
  {
    name: "plan",
    match: { method: "POST", path: "/v1/chat/completions" },
    key: ["header:x-user"],
    meter: METER,
    limits: [{ algorithm: "calendar", limit: 5, window: "month" }],
    overflow: "team",
  },
  {
    name: "team",
    key: ["header:x-team"],
    meter: METER,
    limits: [{ algorithm: "calendar", limit: 250, window: "month" }],
    overflow: "credits",
  },
  {
    name: "credits",
    key: ["global"],
    meter: METER,
    limits: [{ algorithm: "calendar", limit: 1_000, window: "year" }],
  },
  { name: "exports", match: { path: "/exports" }, key: ["ip"], limits: [{ algorithm: "concurrency", limit: 2 }] },
] as const;
