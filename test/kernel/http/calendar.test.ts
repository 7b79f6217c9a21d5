// What clients are told about periods of a calendar: header fields by the period that the decision lies in.

import { describe, expect, it } from "vitest";
import { decideLimit } from "../../../src/kernel/core/decision.ts";
import type { Limit, Policy } from "../../../src/kernel/core/policy.ts";
import { ENFORCED, Flag, take } from "../../../src/kernel/core/take.ts";
import { addRateLimitFields } from "../../../src/kernel/http/headers.ts";
import { checkedPolicies } from "../../features/live/policies.ts";
import { fieldsOf } from "../../support/cases/fields.ts";

const DAY_S = 86_400;

const policyOf = (limit: object, policy: object = {}): Policy =>
  checkedPolicies([{ name: "api", limits: [{ algorithm: "calendar", ...limit }], ...policy }])[0]!;

/** The fields of the answer to a client's first request at an instant. @param cost of the request. */
function toldAt(policy: Policy, at: string, cost = 1) {
  const nowMs = Date.parse(at);
  const limits: readonly Limit[] = policy.limits;
  const { reply } = take(
    () => undefined,
    { keys: [{ key: "", group: ENFORCED, cost, limits }], flag: Flag.take, slot: 1 },
    nowMs,
  );
  const decision = decideLimit(policy, limits[0]!, reply.keys[0]![0]!, cost, nowMs);
  const headers = new Headers();
  addRateLimitFields(headers, "both", [decision], nowMs);
  return { ...fieldsOf({ headers }), decision };
}

// test/kernel/core/periods.test.ts has the periods of every zone.
describe("the fields", () => {
  it.each([
    // The year has not ended in Los Angeles, 8 hours behind UTC.
    ["the old year", "2027-01-01T07:59:00Z", { window: "year", zone: "America/Los_Angeles" }, 365 * DAY_S, 60],
    ["the repeated hour", "2026-09-30T22:00:00Z", { window: "month", zone: "Europe/Berlin" }, 2_682_000, 2_682_000],
  ])("of %s have its length, and the seconds until it ends, a day at most", (_, at, limit, w, t) => {
    const { policies, states, legacy } = toldAt(policyOf({ limit: 10_000, ...limit }), at);
    expect(policies).toEqual({ api: { q: 10_000, w } });
    expect(states).toEqual({ api: { r: 9_999, t: Math.min(t, DAY_S) } });
    expect(legacy).toEqual({ limit: 10_000, remaining: 9_999, resetAt: Date.parse(at) / 1_000 + t });
  });

  it("of one limit have the length of each period that it comes to, and go back with a clock that does", () => {
    const policy = policyOf({ limit: 10_000, window: "month", zone: "Europe/Berlin" });
    const months = ["2026-09-15", "2026-10-15", "2026-11-15", "2026-10-16"];
    const told = months.map((day) => toldAt(policy, `${day}T12:00:00Z`).policies!.api!.w);
    expect(told).toEqual([30 * DAY_S, 2_682_000, 30 * DAY_S, 2_682_000]);
  });

  it("of dollars count in units of 10 micro-dollars", () => {
    const meter = { unit: "usd", prices: { default: { input: 15, output: 75 } } };
    const policy = policyOf({ limit: 12.5, window: "month" }, { meter });
    expect(toldAt(policy, "2027-02-10T00:00:00Z", 250_000).policies).toEqual({
      api: { q: 1_250_000, w: 28 * DAY_S, qu: "10-micro-usd" },
    });
  });
});
