// The limits of each algorithm: how they are read, and which numbers are valid.

import { describe, expect, it } from "vitest";
import { parsePolicies } from "../../../src/features/configuration.ts";
import { algorithmOf, NAMED } from "../../../src/kernel/core/algorithms.ts";
import type { Field } from "../../../src/kernel/core/named.ts";

const mistakesOf = (...limits: object[]) => parsePolicies([{ name: "api", limits }], "policies").mistakes ?? [];

describe("a limit", () => {
  // round-trip.test.ts has how each is read, and its defaults.
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
    { limit: 1, window: "1ms" },
    { limit: 1, window: "31d", buckets: 60 },
    // 2^53 - 1 = 6361 * 69431 * 20394401.
    { limit: 20_394_401, window: `${6361 * 69_431}ms` },
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
