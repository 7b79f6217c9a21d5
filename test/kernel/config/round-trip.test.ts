import { expect, it } from "vitest";
import { parsePolicies, writePolicy } from "../../../src/features/configuration.ts";
import { NAMED } from "../../../src/kernel/core/algorithms.ts";

const limits = [
  { limit: "10", window: "250ms", scope: "region" },
  { algorithm: "sliding-window", limit: 600, window: "60000ms", buckets: 60, oldest: "whole", scope: "global" },
  { algorithm: "fixed-window", limit: 1000, window: "31d", scope: "region" },
  { algorithm: "sliding-log", limit: "10000", window: "90s", scope: "region" },
  { algorithm: "token-bucket", limit: 7, window: "1s", burst: "20", scope: "region" },
  { algorithm: "leaky-bucket", limit: 1_000_000, window: "1h", burst: 1, maxDelay: "1500ms", scope: "region" },
  { algorithm: "concurrency", limit: 5, timeout: "90s", sockets: "open", scope: "region" },
  { algorithm: "calendar", limit: 9, window: "month", zone: "America/Los_Angeles", monthDay: "15", scope: "region" },
];

const everyField = [
  {
    name: "every-field",
    match: { method: ["GET", "post"], path: ["/v1/*", "/v2/:id"], host: "api.example.com" },
    except: [{ path: "/v1/health" }, { method: "get", host: ["a.example", "b.example"] }],
    exempt: ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"],
    key: ["bearer", "header:X-User+ip", "cookie:sid", "query:q", "country", "asn", "host", "region", "global", "ip"],
    cost: [{ method: "GET", path: "/v1/search", host: ["api.example.com"], cost: "1" }, { cost: 0 }],
    ...{ consistency: "strict", mode: "shadow", onStoreFailure: "deny", documented: "false", plan: "header:X-Plan" },
    plans: { pro: { "every-field-1": "20", "every-field-7": 50 }, "eu:free": { "every-field-3": 5 } },
    limits,
  },
  {
    name: "defaults",
    limits: [
      { limit: 1, window: "1d" },
      { algorithm: "fixed-window", limit: 1, window: "1d" },
      { algorithm: "token-bucket", limit: 2, window: "1d" },
      { algorithm: "leaky-bucket", limit: 2, window: "2d" },
      { algorithm: "concurrency", limit: 1 },
      { algorithm: "calendar", limit: 1, window: "day" },
      { algorithm: "calendar", limit: 1, window: "week" },
      { algorithm: "calendar", limit: 1, window: "month" },
    ],
  },
  { name: "leased", consistency: "leased", limits: [{ limit: 1, window: "1d" }] },
  { name: "all", count: "all", refusal: { status: "403" }, limits: [{ limit: 1, window: "1d" }] },
  { name: "failures", count: "failures", refusal: { body: "[{retryAfter}]" }, limits: [{ limit: 1, window: "1d" }] },
  { name: "shared", consistency: "shared", sync: "1500ms", limits: [{ limit: 1, window: "1d" }] },
];

it("policies of every algorithm and field, written out with their defaults, are read as the same policies", () => {
  const first = parsePolicies(everyField, "POLICIES");
  expect(first.mistakes).toBeUndefined();
  const written = JSON.parse(JSON.stringify(first.mistakes ? [] : first.value.map(writePolicy)));
  expect(parsePolicies(written, "POLICIES")).toEqual(first);
  const { limits: _, ...fields } = everyField[0]!;
  expect(written[0]).toMatchObject({
    ...fields,
    match: { method: ["GET", "POST"], path: ["/v1/*", "/v2/:id"], host: ["api.example.com"] },
    except: [{ path: ["/v1/health"] }, { method: ["GET"], host: ["a.example", "b.example"] }],
    cost: [{ method: ["GET"], path: ["/v1/search"], host: ["api.example.com"], cost: 1 }, { cost: 0 }],
    documented: false,
    plans: { pro: { "every-field-1": 20, "every-field-7": 50 }, "eu:free": { "every-field-3": 5 } },
  });
  expect(written.slice(3)).toMatchObject([
    { refusal: { status: 403 } },
    { count: "failures", refusal: { status: 429, type: "application/json", body: "[{retryAfter}]" } },
    { consistency: "shared", sync: "1500ms" },
  ]);
  expect(written[3]).not.toHaveProperty("count");
  expect(written[0].limits).toEqual([
    { algorithm: "sliding-window", limit: 10, window: "250ms", buckets: 1, oldest: "weighted", scope: "region" },
    { ...limits[1], window: "1m" },
    limits[2],
    { ...limits[3], limit: 10_000 },
    { ...limits[4], burst: 20 },
    limits[5],
    limits[6],
    { ...limits[7], monthDay: 15 },
  ]);
  expect(written[1].limits).toEqual([
    { algorithm: "sliding-window", limit: 1, window: "1d", buckets: 1, oldest: "weighted", scope: "global" },
    { algorithm: "fixed-window", limit: 1, window: "1d", scope: "global" },
    { algorithm: "token-bucket", limit: 2, window: "1d", burst: 2, scope: "global" },
    { algorithm: "leaky-bucket", limit: 2, window: "2d", burst: 2, maxDelay: "0ms", scope: "global" },
    { algorithm: "concurrency", limit: 1, timeout: "1m", scope: "global" },
    { algorithm: "calendar", limit: 1, window: "day", zone: "UTC", scope: "global" },
    { algorithm: "calendar", limit: 1, window: "week", zone: "UTC", weekStart: "monday", scope: "global" },
    { algorithm: "calendar", limit: 1, window: "month", zone: "UTC", monthDay: 1, scope: "global" },
  ]);
});

it("policies with a meter, too: dollars are written as dollars, and counted in units of 10 micro-dollars", () => {
  const prices = { "gpt-5*": { input: "1.25", cachedInput: 0.125, output: 10 }, default: { input: 15, output: 75 } };
  const metered = [
    { name: "tokens", meter: { unit: "tokens", maxOutput: "100" }, limits: [{ limit: 200_000, window: "1m" }] },
    { name: "plan", overflow: "team", limits: [{ limit: 1, window: "1d" }] },
    { name: "team", limits: [{ limit: 1, window: "1d" }] },
    {
      name: "usd",
      meter: { unit: "usd", prices, perImage: 0, unmetered: { cost: "0.25" }, onExceeded: "cut" },
      plans: { pro: { usd: "100.5" } },
      limits: [{ algorithm: "fixed-window", limit: "12.50", window: "1d" }],
    },
  ];
  const first = parsePolicies(metered, "POLICIES");
  const policies = first.mistakes ? [] : first.value;
  expect(policies.flatMap(({ meter }) => meter ?? [])).toEqual([
    { unit: "tokens", maxOutput: 100, perImage: 1_000, unmetered: "refuse", onExceeded: "finish" },
    {
      ...{ unit: "usd", maxOutput: 4_096, perImage: 0, unmetered: { cost: 0.25 }, onExceeded: "cut" },
      prices: { ...prices, "gpt-5*": { ...prices["gpt-5*"], input: 1.25 } },
    },
  ]);
  const usd = { limits: [{ limit: 1_250_000, unit: "usd" }], plans: { pro: { usd: 100.5 } } };
  expect(policies.at(-1)).toMatchObject(usd);
  const written = JSON.parse(JSON.stringify(policies.map(writePolicy)));
  expect(written.at(-1).limits).toMatchObject([{ limit: 12.5 }]);
  expect(parsePolicies(written, "POLICIES")).toEqual(first);
});

it("that is every field that an algorithm has", () => {
  for (const [algorithm, { fields }] of Object.entries(NAMED)) {
    const given = limits.filter((limit) => limit.algorithm === algorithm).flatMap(Object.keys);
    // weekStart and monthDay do not stand beside each other.
    const more = algorithm === "calendar" ? ["weekStart"] : [];
    expect([...new Set([...given, ...more])].sort()).toEqual(["algorithm", "scope", ...Object.keys(fields)].sort());
  }
});
