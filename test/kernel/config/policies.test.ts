// How policies are read: their defaults, the numbers of their limits, and chains.

import { describe, expect, it } from "vitest";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { FIELDS, parsePolicies, warningsOf } from "../../../src/features/configuration.ts";
import type { Field } from "../../../src/kernel/config/fields/field.ts";
import { ConfigurationError } from "../../../src/kernel/config/mistake.ts";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { algorithmOf, NAMED } from "../../../src/kernel/core/algorithms.ts";
import type { Field as LimitField } from "../../../src/kernel/core/named.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { checkedPolicies } from "../../features/live/policies.ts";
import { createLimiter } from "../../support/limiter.ts";

const limits = [{ limit: 10, window: "1m" }] as const;

const policiesOf = (...input: unknown[]) => checkedPolicies(input);
const mistakesOf = (...input: unknown[]) => parsePolicies(input, "policies").mistakes ?? [];

describe("a policy", () => {
  it("has a default for everything but its name and limits", () => {
    expect(policiesOf({ name: "api", limits })).toEqual([
      {
        ...{ name: "api", match: {}, key: ["ip"], cost: [], consistency: "strict", mode: "enforce" },
        ...{ onStoreFailure: "local", documented: true },
        limits: [
          {
            ...{ id: "api", algorithm: "sliding-window", scope: "global" },
            ...{ kind: Kind.weighted, limit: 10, bucketMs: 60_000, buckets: 1 },
          },
        ],
      },
    ]);
  });

  it("may have such a name, and no other", () => {
    const names = ["0", "a-", "a".repeat(32)];
    expect(names.map((name) => policiesOf({ name, limits })[0]?.limits[0]?.id)).toEqual(names);
    for (const name of ["", "-a", "A", "a_b", "a:b", "{a}", "ä", "a".repeat(33), 7]) {
      expect(mistakesOf({ name, limits })).toMatchObject([{ code: "ERR_POLICY_NAME", path: "policies[0].name" }]);
    }
  });

  it("may have eight limits", () => {
    const eight = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => ({ limit: 1, window: `${n}s` }));
    expect(policiesOf({ name: "api", limits: eight })[0]?.limits.map(({ id }) => id)).toEqual(
      eight.map((_, n) => `api-${n + 1}`),
    );
  });
});

it.each([[undefined], [null], [[]], ["api"], [{}]])("%j is no list of policies", (input) => {
  expect(parsePolicies(input, "POLICIES").mistakes).toMatchObject([{ code: "ERR_POLICIES_MISSING", path: "POLICIES" }]);
});

it("fields that are absent in an overflow are those with a default or none that the policy before it says", () => {
  const ofHead = Object.entries<Field>(FIELDS).filter(([, { isOfHead }]) => isOfHead);
  for (const [name, { isOptional, default: usual }] of ofHead) {
    expect(isOptional ?? usual !== undefined, name).toBe(true);
  }
});

const mistakesIn = (...limits: object[]) => mistakesOf({ name: "api", limits });

describe("a limit of a policy", () => {
  // round-trip.test.ts has how each is read, and its defaults.
  it.each([null, ["sliding-log"], { toString: 1 }, "constructor", ""])(
    "whose algorithm is %j is refused for that, and for no field of another algorithm",
    (algorithm) => {
      const [mistake, ...more] = mistakesIn({ algorithm, per: "ip" });
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
    expect(mistakesIn(limit)).toEqual([]);
  });

  const log = { algorithm: "sliding-log", limit: 1, window: "1m" };
  const slots = { algorithm: "concurrency", limit: 1 };

  it.each([
    [log, { limit: 1, window: "1m" }, { algorithm: "token-bucket", limit: 1, window: "1m" }],
    [log, { ...log, window: "2m" }, { ...log, scope: "region" }],
    [slots, { ...slots, timeout: "1h" }, { ...slots, scope: "region" }],
  ])("may stand beside others: %j, %j, %j", (...limits) => {
    expect(mistakesIn(...limits)).toEqual([]);
  });
});

it.each([0, "60s"])(
  "a burst must fit with a maxDelay of %j, and the error names the largest that would",
  (maxDelay) => {
    const withBurst = (burst: number) =>
      mistakesIn({ algorithm: "leaky-bucket", limit: 1_000_000_000, window: "31d", burst, maxDelay });
    const [mistake] = withBurst(1_000_000_000);
    expect(mistake).toMatchObject({ code: "ERR_POLICY_RANGE", path: "policies[0].limits[0].burst" });
    const [, largest] = /a burst of at most (\d+) with a window of 2678400000 ms/.exec(mistake!.expected)!;
    expect(withBurst(Number(largest))).toEqual([]);
    expect(withBurst(Number(largest) + 1)).toMatchObject([{ code: "ERR_POLICY_RANGE" }]);
  },
);

it.each(Object.entries(NAMED))("%s counts units in the fields that say so, up to the same numbers", (_, named) => {
  const fields = Object.entries<LimitField>(named.fields).flatMap(([name, one]) =>
    one.is === "units" ? [[name, one.most]] : [],
  );
  expect(algorithmOf(named).units).toEqual(Object.fromEntries(fields));
});

describe("overflow", () => {
  it("gives the chain what it takes over from the policy that matches", () => {
    const [plan] = policiesOf(
      {
        ...{ name: "plan", key: ["header:x-user"], limits, overflow: "team", onStoreFailure: "deny" },
        ...{ refusal: { status: 402 } },
      },
      { name: "team", key: ["header:x-team"], limits, overflow: "credits", documented: false },
      { name: "credits", key: ["global"], limits: [{ algorithm: "fixed-window", limit: 5, window: "1d" }] },
    );
    const [team, credits] = plan!.chain!;
    expect(plan).not.toHaveProperty("isOverflow");
    const taken = { onStoreFailure: "deny", refusal: { status: 402 }, isOverflow: true };
    expect(team).toMatchObject({ name: "team", key: ["header:x-team"], documented: false, ...taken });
    expect(credits).toMatchObject({ name: "credits", key: ["global"], ...taken });
    expect(plan!.chain).toHaveLength(2);
  });
});

// mistakes.toml has what is wrong with one.
describe("an overflow", () => {
  const plan = { name: "plan", limits, overflow: "team" };
  const team = { name: "team", limits };

  it("may be shared by policies of other requests", () => {
    const [a, b] = policiesOf(
      { ...plan, match: { path: "/a/*" } },
      { ...plan, name: "plan-b", match: { path: "/b/*" } },
      team,
    );
    expect([a!.chain![0]!.name, b!.chain![0]!.name]).toEqual(["team", "team"]);
  });

  it("that two policies of one request share is found before a handler too", () => {
    const policies = [plan, { ...plan, name: "other" }, team];
    const limiter = createLimiter({ policies, store: memoryStore() });
    expect(() => withRateLimit(() => new Response(), limiter)).toThrow(ConfigurationError);
  });
});

describe("warnings of an overflow", () => {
  it.each(["leased", "shared"] as const)("say that it may pay early under %s", (consistency) => {
    const plan = { name: "plan", limits, consistency, overflow: "team" };
    expect(warningsOf(policiesOf(plan, { name: "team", limits, consistency }))).toEqual([
      expect.stringContaining("team may pay while other instances can still use plan"),
    ]);
  });

  const team = { name: "team", key: ["header:x-team"], limits };

  it("come from the requests of the policy before it", () => {
    const plan = { name: "plan", match: { path: "/v1/*" }, key: ["ip"], limits, overflow: "team" };
    expect(warningsOf(policiesOf(plan, team))).toEqual([]);
    expect(warningsOf(policiesOf({ ...plan, key: ["header:x-user"] }, team))).toEqual([
      expect.stringContaining("policy plan counts by header:x-user"),
      expect.stringContaining("policy team counts by header:x-team"),
    ]);
  });
});
