import { describe, expect, it } from "vitest";
import type { RateLimitHeaders } from "../../../src/kernel/config/settings.ts";
import { decideLimit, type LimitDecision } from "../../../src/kernel/core/decision.ts";
import type { Limit, Policy } from "../../../src/kernel/core/policy.ts";
import { ENFORCED, Flag, take } from "../../../src/kernel/core/take.ts";
import { addRateLimitFields, isForMany } from "../../../src/kernel/http/headers.ts";
import { checkedPolicies } from "../../features/live/policies.ts";
import { fieldsOf } from "../../support/cases/fields.ts";

/** 1,800,000,000.5 s after the epoch. The half second shows whether a value is rounded up. */
const NOW_MS = 1_800_000_000_500;

/** The remaining units of a limit, and the time until there are more. */
interface Left {
  remaining: number;
  growsAfterMs?: number;
}

/** The decisions about the windows of one policy. */
function decisions(...limits: ({ limit: number; windowMs: number } & Left)[]) {
  return decisionsOf(
    ...limits.map(({ limit, windowMs, ...left }) => ({ written: { limit, window: `${windowMs}ms` }, ...left })),
  );
}

/** The decisions about any limits of one policy. `written` is a limit as the configuration writes it. */
function decisionsOf(...limits: ({ written: object } & Left)[]) {
  const [policy] = checkedPolicies([{ name: "api", limits: limits.map(({ written }) => written) }]);
  return limits.map(({ remaining, growsAfterMs }, i): LimitDecision => {
    const grows = growsAfterMs === undefined ? {} : { growsAfterMs };
    const [limit, times] = [policy!.limits[i]!, { ...grows, retryAfterMs: 0, resetAfterMs: 0 }];
    return { policy: policy!, limit, admitted: true, remaining, ...times };
  });
}

function fieldsFor(mode: RateLimitHeaders, limits: LimitDecision[], given: Record<string, string> = {}) {
  const headers = new Headers(given);
  const names = addRateLimitFields(headers, mode, limits, NOW_MS);
  return { headers, names, ...fieldsOf({ headers }) };
}

const two = () =>
  decisions(
    { limit: 10, windowMs: 1_000, remaining: 7, growsAfterMs: 1 },
    { limit: 600, windowMs: 60_000, remaining: 512, growsAfterMs: 8_001 },
  );

describe("the fields of draft 11", () => {
  it("are lists of quoted limit ids with their parameters, in order", () => {
    const { headers } = fieldsFor("draft-11", two());
    expect(headers.get("RateLimit-Policy")).toBe('"api-1";q=10;w=1, "api-2";q=600;w=60');
    expect(headers.get("RateLimit")).toBe('"api-1";r=7;t=1, "api-2";r=512;t=9');
  });

  it.each([
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    // A timer of 32 bits would overflow after 24.8 days, and the client would ask again at once.
    [2_678_400_000, 86_400],
  ])("round a wait of %i ms up to %i s", (growsAfterMs, seconds) => {
    const limits = decisions({ limit: 3, windowMs: 1_000, remaining: 2, growsAfterMs });
    expect(fieldsFor("draft-11", limits).states).toEqual({ api: { r: 2, t: seconds } });
  });
});

describe("the fields of draft 11 for other algorithms", () => {
  const bucket = { algorithm: "token-bucket", limit: 10, window: "1s" };

  // quota.test.ts has what each algorithm holds, and how long its window is.
  it.each([
    ["a bucket that fills in whole seconds", { ...bucket, limit: 7, burst: 21 }, { q: 21, w: 3 }],
    ["a bucket that fills in no whole seconds", { ...bucket, burst: 25 }, { q: 25 }],
    ["a bucket that fills in less than one", { ...bucket, burst: 1 }, { q: 1 }],
    ["a bucket that fills in no whole milliseconds", { ...bucket, limit: 7, burst: 20 }, { q: 20 }],
    ["the largest bucket", { ...bucket, limit: 1, burst: 1_000_000_000 }, { q: 1_000_000_000, w: 1_000_000_000 }],
  ])("show %s as what it holds, and the seconds until that is full", (_, written, parameters) => {
    const fields = fieldsFor("both", decisionsOf({ written, remaining: 1, growsAfterMs: 1_001 }));
    expect(fields.policies).toEqual({ api: parameters });
    expect(fields.states).toEqual({ api: { r: 1, t: 2 } });
    expect(fields.legacy).toEqual({ limit: parameters.q, remaining: 1, resetAt: 1_800_000_002 });
  });

  it("show concurrency in its own unit, without a time: nobody knows it", () => {
    const limits = decisionsOf({ written: { algorithm: "concurrency", limit: 5 }, remaining: 0 });
    const { policies, states, legacy } = fieldsFor("both", limits);
    expect([policies, states]).toEqual([{ api: { q: 5, qu: "concurrent-requests" } }, { api: { r: 0 } }]);
    expect(legacy).toEqual({ limit: 5, remaining: 0, resetAt: 1_800_000_001 });
  });
});

describe("the X- fields", () => {
  it("show the limit with the fewest units left", () => {
    const expected = { limit: 10, remaining: 7, resetAt: 1_800_000_001 };
    for (const limits of [two(), two().reverse()]) expect(fieldsFor("legacy", limits).legacy).toEqual(expected);
  });

  it("show, of limits with equally few units, the one whose units come back last", () => {
    const tied = [
      { limit: 5, windowMs: 1_000, remaining: 0, growsAfterMs: 1_000 },
      { limit: 20, windowMs: 60_000, remaining: 0, growsAfterMs: 30_000 },
      { limit: 9, windowMs: 2_000, remaining: 0, growsAfterMs: 2_000 },
    ];
    const expected = { limit: 20, remaining: 0, resetAt: 1_800_000_031 };
    expect(fieldsFor("legacy", decisions(...tied)).legacy).toEqual(expected);
    expect(fieldsFor("legacy", decisions(...tied.reverse())).legacy).toEqual(expected);
  });

  it("reset now, rounded up, when nothing is missing", () => {
    const full = decisions({ limit: 3, windowMs: 1_000, remaining: 3 });
    expect(fieldsFor("legacy", full).legacy).toEqual({ limit: 3, remaining: 3, resetAt: 1_800_000_001 });
  });

  it("reset at the first whole second at which there is more: never before it, and never a second late", () => {
    for (let offsetMs = 0; offsetMs < 1_000; offsetMs += 37) {
      for (const growsAfterMs of [1, 250, 999, 1_000, 1_001, 1_300, 59_999]) {
        const headers = new Headers();
        const limits = decisions({ limit: 3, windowMs: 60_000, remaining: 0, growsAfterMs });
        addRateLimitFields(headers, "legacy", limits, NOW_MS + offsetMs);
        const lateMs = 1000 * fieldsOf({ headers }).legacy!.resetAt - (NOW_MS + offsetMs + growsAfterMs);
        expect(lateMs).toBeGreaterThanOrEqual(0);
        expect(lateMs).toBeLessThan(1_000);
      }
    }
  });
});

it.each([
  // The waits are those of the answer, not of the decision.
  [30_000, 12_345, 18, 1_800_000_031],
  // A wait that has already passed is told as 1 s, because `r` is from the decision.
  [2_000, 60_000, 1, 1_800_000_061],
])("after a handler a wait of %i ms, of which %i have passed, is told as %i s", (growsAfterMs, tookMs, t, resetAt) => {
  const headers = new Headers();
  const limits = decisions({ limit: 3, windowMs: 60_000, remaining: 1, growsAfterMs });
  addRateLimitFields(headers, "both", limits, NOW_MS, tookMs);
  expect(fieldsOf({ headers })).toMatchObject({ states: { api: { r: 1, t } }, legacy: { resetAt } });
});

describe("the modes", () => {
  const DRAFT = ["RateLimit-Policy", "RateLimit"];
  const LEGACY = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

  it.each([
    ["both", [...DRAFT, ...LEGACY]],
    ["draft-11", DRAFT],
    ["legacy", LEGACY],
    ["none", []],
  ] as const)("%s sets %j", (mode, names) => {
    const fields = fieldsFor(mode, two());
    expect(fields.names).toEqual(names);
    expect([...fields.headers.keys()].sort()).toEqual(names.map((name) => name.toLowerCase()).sort());
  });
});

describe("fields that are there already", () => {
  it("stay in front in the lists", () => {
    const theirs = { "RateLimit-Policy": '"theirs";q=5;w=1', RateLimit: '"theirs";r=0;t=1' };
    const { policies, states } = fieldsFor("both", two(), theirs);
    expect(Object.keys(policies!)).toEqual(["theirs", "api-1", "api-2"]);
    expect(Object.keys(states!)).toEqual(["theirs", "api-1", "api-2"]);
  });

  it.each([
    ["6", 99],
    ["8", 10],
    ["many", 10],
  ])("with X-RateLimit-Remaining: %s leave the limit shown %i", (remaining, limit) => {
    const theirs = { "X-RateLimit-Limit": "99", "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": "1" };
    expect(fieldsFor("both", two(), theirs).legacy!.limit).toBe(limit);
  });
});

it("tell the end of one window as the same second, however long the answers of the store take", () => {
  const [limit] = decisions({ limit: 9, windowMs: 60_000, remaining: 0 });
  const endMs = 1_800_000_060_000;
  const seconds = new Set<string | null>();
  for (let storeMs = endMs - 60_000; storeMs < endMs; storeMs += 997) {
    // The isolate's clock is late by the reply's way, and ahead or behind by its drift.
    for (const behindMs of [-40, 0, 3, 250]) {
      const headers = new Headers();
      const one = { ...limit!, growsAfterMs: endMs - storeMs, growsAtMs: endMs };
      addRateLimitFields(headers, "legacy", [one], storeMs + behindMs);
      seconds.add(headers.get("X-RateLimit-Reset"));
    }
  }
  expect([...seconds]).toEqual([String(endMs / 1_000)]);
});

describe("an answer that shared caches may keep", () => {
  const PAST = "Thu, 01 Jan 1970 00:00:00 GMT";
  const FUTURE = "Fri, 15 Jan 2027 09:00:00 GMT";

  it.each<[Record<string, string>, boolean]>([
    [{}, false],
    [{ "Cache-Control": "must-revalidate", Expires: PAST }, false],
    [{ "Cache-Control": "no-store, public" }, false],
    [{ "Cache-Control": "Private", Expires: FUTURE }, false],
    [{ "Cache-Control": "max-age=60 ,\tno-store " }, false],
    [{ "Cache-Control": 'no-cache="a, b", private' }, false],
    [{ "Surrogate-Control": "no-store" }, false],
    [{ "Cache-Control": "x-private-beta=1, max-age=600" }, true],
    [{ "Cache-Control": "max-age=0, s-maxage=60" }, true],
    [{ "Cache-Control": "MAX-AGE=010" }, true],
    [{ "Cache-Control": 'max-age="60"' }, true],
    // Part of a quoted text.
    [{ "Cache-Control": 'max-age=600, no-cache="x-a, private, x-b"' }, true],
    [{ "Cache-Control": 'max-age=600, ext="a, no-store' }, true],
    [{ "Cache-Control": "must-revalidate;max-age=600" }, true],
    // Only the named header is for one client.
    [{ "Cache-Control": 'private="set-cookie", max-age=60' }, true],
    [{ Expires: FUTURE }, true],
    // A shared cache of the kind that is named obeys these instead.
    [{ "Cache-Control": "private", "CDN-Cache-Control": "max-age=60" }, true],
    [{ "Cache-Control": "no-store", "Cloudflare-CDN-Cache-Control": "max-age=60" }, true],
    [{ "Surrogate-Control": "max-age=60" }, true],
  ])("%o: %s", (headers, expected) => {
    expect(isForMany(new Headers(headers), NOW_MS)).toBe(expected);
  });
});

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
describe("the fields of periods of a calendar", () => {
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
