import { expect, it } from "vitest";
import { describeLimit, quotaOf } from "../../../src/kernel/http/quota.ts";
import { checkedPolicies } from "../../features/live/policies.ts";

const DAY_MS = 86_400_000;
const bucket = (limit: number, window: string, burst?: number) => {
  return { algorithm: "token-bucket", limit, window, ...(burst && { burst }) };
};

it.each([
  [{ limit: 600, window: "1m" }, "600 per minute", { quota: 600, windowMs: 60_000 }],
  [{ limit: 600, window: "1m", buckets: 6, oldest: "whole" }, "600 per minute", { quota: 600, windowMs: 60_000 }],
  [{ limit: 10, window: "1s", scope: "region" }, "10 per second in region eu", { quota: 10, windowMs: 1_000 }],
  [{ algorithm: "sliding-log", limit: 3, window: "90s" }, "3 per 90 seconds", { quota: 3, windowMs: 90_000 }],
  // A bucket's quota is its burst, and its window is the time in which the bucket fills.
  [bucket(10, "1s", 20), "10 per second, at most 20 at once", { quota: 20, windowMs: 2_000 }],
  [bucket(3, "1s", 1), "3 per second, at most 1 at once", { quota: 1, windowMs: 1_000 / 3 }],
  [
    { algorithm: "leaky-bucket", limit: 10, window: "1m", burst: 1, maxDelay: "2s", scope: "region" },
    "10 per minute, at most 1 at once in region eu",
    { quota: 1, windowMs: 6_000 },
  ],
  // The window is the longest period.
  [{ algorithm: "calendar", limit: 9, window: "day" }, "9 per day", { quota: 9, windowMs: DAY_MS }],
  [{ algorithm: "calendar", limit: 9, window: "month" }, "9 per month", { quota: 9, windowMs: 31 * DAY_MS }],
  [{ algorithm: "concurrency", limit: 5, scope: "region" }, "5 at a time in region eu", { quota: 5 }],
])("%j is told as %s", (written, text, quota) => {
  const limit = checkedPolicies([{ name: "api", limits: [written] }])[0]!.limits[0]!;
  expect(describeLimit(limit, () => "eu")).toBe(text.includes("region") ? text : `${text} in all regions`);
  expect(quotaOf(limit)).toEqual(quota);
});

const usd = { unit: "usd", prices: { default: { input: 15, output: 75 } } };
const perDay = (limit: number | string) => ({ algorithm: "fixed-window", limit, window: "1d" });

it.each<[object, object, string, number]>([
  [{ unit: "tokens" }, bucket(10, "1s", 1), "10 tokens per second, at most 1 token at once", 1],
  [{ unit: "tokens" }, { algorithm: "calendar", limit: 9_000, window: "year" }, "9,000 tokens per year", 9_000],
  [usd, perDay("12.5"), "$12.50 per day", 1_250_000],
  [usd, perDay(0.00001), "$0.00001 per day", 1],
  [usd, perDay(0.29), "$0.29 per day", 29_000],
])("under the meter %j %j is told as %s", (meter, written, text, quota) => {
  const limit = checkedPolicies([{ name: "llm", meter, limits: [written] }])[0]!.limits[0]!;
  expect(describeLimit(limit, () => "eu")).toBe(`${text} in all regions`);
  expect(quotaOf(limit).quota).toBe(quota);
});

it("a ban is told as the refusals that lead to it", () => {
  const ban = { id: "api-ban", algorithm: "ban", scope: "global", limit: 5, withinMs: 600_000 };
  expect(describeLimit(ban as never, () => "eu")).toBe("5 refusals within 10 minutes in all regions");
});
