// The limits of each algorithm: how they are read, and which numbers are valid.

import { describe, expect, it } from "vitest";
import { parsePolicies } from "../../../src/features/configuration.ts";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { algorithmOf, NAMED } from "../../../src/kernel/core/algorithms.ts";
import type { Field } from "../../../src/kernel/core/named.ts";
import { checkedPolicies } from "../../features/live/policies.ts";

const limitOf = (limit: object) => checkedPolicies([{ name: "api", limits: [limit] }])[0]!.limits[0];
const mistakesOf = (...limits: object[]) => parsePolicies([{ name: "api", limits }], "policies").mistakes ?? [];

describe("a limit", () => {
  const rest = { id: "api", scope: "global" };
  const perSecond = { limit: 10, window: "1s" };
  const bucket = { ...rest, kind: Kind.bucket, limit: 10, windowMs: 1000, burst: 10, maxDelayMs: 0 };

  const day = { ...rest, kind: Kind.calendar, limit: 10, zone: "UTC", firstDay: 1 };

  it.each([
    ["fixed-window", perSecond, { ...rest, kind: Kind.fixedWindow, limit: 10, windowMs: 1000 }],
    ["sliding-log", perSecond, { ...rest, kind: Kind.log, limit: 10, windowMs: 1000 }],
    ["token-bucket", { ...perSecond, burst: "50" }, { ...bucket, burst: 50 }],
    ["leaky-bucket", { ...perSecond, burst: 1, maxDelay: "2s" }, { ...bucket, burst: 1, maxDelayMs: 2000 }],
    ["calendar", { limit: 10, window: "week", weekStart: "sunday" }, { ...day, window: "week", firstDay: 7 }],
    ["calendar", { limit: 10, window: "month", monthDay: "15" }, { ...day, window: "month", firstDay: 15 }],
    ["concurrency", { limit: "5" }, { ...rest, kind: Kind.concurrency, limit: 5, timeoutMs: 60_000 }],
  ])("of %s, written %j, is read with its defaults", (algorithm, written, expected) => {
    expect(limitOf({ algorithm, ...written })).toMatchObject({ algorithm, ...expected });
  });

  it.each([null, ["sliding-log"], { toString: 1 }, "constructor", ""])(
    "whose algorithm is %j is refused for that, and for no field of another algorithm",
    (algorithm) => {
      const [mistake, ...more] = mistakesOf({ algorithm, per: "ip" });
      expect(mistake).toMatchObject({ code: "ERR_POLICY_ALGORITHM", path: "policies[0].limits[0].algorithm" });
      expect(more).toEqual([]);
    },
  );

  it.each([
    { algorithm: "sliding-log", limit: 10_000, window: "31d" },
    { algorithm: "fixed-window", limit: 1_000_000_000, window: "31d" },
    { algorithm: "token-bucket", limit: 1_000_000_000, window: "1ms", burst: 1 },
    { algorithm: "token-bucket", limit: 1_000_000_000, window: "1s", burst: 1_000_000_000 },
    { algorithm: "leaky-bucket", limit: 1, window: "31d", maxDelay: "60s" },
    { algorithm: "concurrency", limit: 1_000_000_000, timeout: "31d" },
    { algorithm: "concurrency", limit: 1, timeout: "1000ms" },
  ])("may be %j", (limit) => {
    expect(mistakesOf(limit)).toEqual([]);
  });
});

describe("the numbers of a bucket", () => {
  it.each([0, "60s"])(
    "must fit with a maxDelay of %j, and the error names the largest burst that would",
    (maxDelay) => {
      const withBurst = (burst: number) =>
        mistakesOf({ algorithm: "leaky-bucket", limit: 1_000_000_000, window: "31d", burst, maxDelay });

      const [mistake] = withBurst(1_000_000_000);
      expect(mistake).toMatchObject({ code: "ERR_POLICY_RANGE", path: "policies[0].limits[0].burst" });
      const [, largest] = /a burst of at most (\d+) with a window of 2678400000 ms/.exec(mistake!.expected)!;
      expect(withBurst(Number(largest))).toEqual([]);
      expect(withBurst(Number(largest) + 1)).toMatchObject([{ code: "ERR_POLICY_RANGE" }]);
    },
  );
});

describe("two limits of a policy", () => {
  const log = { algorithm: "sliding-log", limit: 1, window: "1m" };
  const slots = { algorithm: "concurrency", limit: 1 };

  it.each([
    ["the same window under two algorithms", log, { limit: 1, window: "1m" }],
    ["a bucket beside a window", { limit: 1, window: "1m" }, { algorithm: "token-bucket", limit: 1, window: "1m" }],
    ["logs of two windows", log, { ...log, window: "2m" }],
    ["logs of two scopes", log, { ...log, scope: "region" }],
    ["slots of two timeouts", slots, { ...slots, timeout: "1h" }],
    ["slots of two scopes", slots, { ...slots, scope: "region" }],
  ])("may be %s", (_, one, other) => {
    expect(mistakesOf(one, other)).toEqual([]);
  });
});

describe("every algorithm in the registry", () => {
  it.each(Object.entries(NAMED))("%s counts units in the fields that say so, up to the same numbers", (_, named) => {
    const fields = Object.entries<Field>(named.fields).flatMap(([name, one]) =>
      one.is === "units" ? [[name, one.most]] : [],
    );
    expect(algorithmOf(named).units).toEqual(Object.fromEntries(fields));
  });

  it("has a name, and every name an algorithm", () => {
    const named = Object.values(NAMED).map((one) => algorithmOf(one));
    expect(new Set(named)).toEqual(new Set(Object.values(Kind).map((kind) => algorithmOf({ kind }))));
  });

  it.each(Object.entries(NAMED))("%s makes a limit of its values, and the values of the limit", (_, named) => {
    const values = Object.entries<Field>(named.fields).map(([field, one]) => {
      if (one.is === "word" && one.default === undefined) return [field, one.isOptional ? undefined : one.words[0]];
      return [field, one.is === "units" ? 60 : one.is === "duration" ? 60_000 : one.default];
    });
    const limit = named.limitOf(Object.fromEntries(values));
    expect(algorithmOf(limit)).toBe(algorithmOf(named));
    expect(named.valuesOf(limit)).toEqual(Object.fromEntries(values));
  });
});
