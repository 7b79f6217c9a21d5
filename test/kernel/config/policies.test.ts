import { describe, expect, it } from "vitest";
import { ConfigurationError, describeMistake } from "../../../src/kernel/config/mistake.ts";
import { parsePolicies } from "../../../src/kernel/config/policies.ts";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter } from "../../../src/limiter.ts";

const limits = [{ limit: 10, window: "1s" }];

function policiesOf(...input: unknown[]) {
  const parsed = parsePolicies(input, "policies");
  if (parsed.mistakes) throw new Error(parsed.mistakes.map(describeMistake).join("\n"));
  return parsed.value;
}

const mistakesOf = (...input: unknown[]) => parsePolicies(input, "policies").mistakes ?? [];

describe("a policy", () => {
  it("has a default for everything but its name and limits", () => {
    expect(policiesOf({ name: "api", limits })).toEqual([
      {
        name: "api",
        match: {},
        key: ["ip"],
        cost: [],
        consistency: "strict",
        mode: "enforce",
        onStoreFailure: "local",
        documented: true,
        limits: [
          {
            id: "api",
            algorithm: "sliding-window",
            scope: "global",
            kind: Kind.weighted,
            limit: 10,
            bucketMs: 1000,
            buckets: 1,
          },
        ],
      },
    ]);
  });

  it("with every field given keeps every field", () => {
    const [policy] = policiesOf({
      name: "api-2",
      match: { method: ["GET", "post"], path: "/v1/*", host: ["a.example", "*.b.example"] },
      key: ["bearer", "header:X-User+ip", "cookie:sid", "query:q", "country+asn", "host", "region", "global"],
      cost: [{ method: "get", path: ["/v1/search"], host: "a.example", cost: 10 }, { cost: 0 }],
      consistency: "leased",
      mode: "shadow",
      onStoreFailure: "deny",
      documented: false,
      limits: [
        { algorithm: "sliding-window", limit: 10, window: "1m", buckets: 6, oldest: "whole", scope: "region" },
        { limit: 20, window: "1h", oldest: "weighted", scope: "global" },
      ],
    });
    expect(policy).toEqual({
      name: "api-2",
      match: { method: ["GET", "POST"], path: ["/v1/*"], host: ["a.example", "*.b.example"] },
      key: ["bearer", "header:X-User+ip", "cookie:sid", "query:q", "country+asn", "host", "region", "global"],
      cost: [{ method: ["GET"], path: ["/v1/search"], host: ["a.example"], cost: 10 }, { cost: 0 }],
      consistency: "leased",
      mode: "shadow",
      onStoreFailure: "deny",
      documented: false,
      limits: [
        {
          id: "api-2-1",
          algorithm: "sliding-window",
          scope: "region",
          kind: Kind.whole,
          limit: 10,
          bucketMs: 10_000,
          buckets: 6,
        },
        {
          id: "api-2-2",
          algorithm: "sliding-window",
          scope: "global",
          kind: Kind.weighted,
          limit: 20,
          bucketMs: 3_600_000,
          buckets: 1,
        },
      ],
    });
  });

  it("may have its numbers and its boolean as text", () => {
    const asText = {
      name: "api",
      key: "ip",
      documented: "false",
      cost: [{ cost: "3" }],
      limits: [{ limit: "600", window: "1m", buckets: "6" }],
    };
    const asValues = {
      name: "api",
      key: ["ip"],
      documented: false,
      cost: [{ cost: 3 }],
      limits: [{ limit: 600, window: "1m", buckets: 6 }],
    };
    expect(policiesOf(asText)).toEqual(policiesOf(asValues));
  });

  it.each(["a", "0", "a-", "api-v1-users-0123456789abcdefgh", "a".repeat(32)])("may be called %s", (name) => {
    expect(policiesOf({ name, limits })[0]?.limits[0]?.id).toBe(name);
  });

  it.each(["", "-a", "A", "a_b", "a b", "a:b", "{a}", "ä", "a".repeat(33), 7, null])("may not be called %j", (name) => {
    expect(mistakesOf({ name, limits })).toMatchObject([{ code: "ERR_POLICY_NAME", path: "policies[0].name" }]);
  });

  it("may have one to eight limits", () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => ({ limit: 1, window: `${i + 1}s` }));
    expect(policiesOf({ name: "api", limits: many(8) })[0]?.limits.map(({ id }) => id)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `api-${n}`),
    );
    for (const count of [0, 9]) {
      expect(mistakesOf({ name: "api", limits: many(count) })).toMatchObject([
        { code: "ERR_POLICY_LIMITS", path: "policies[0].limits" },
      ]);
    }
  });
});

describe("the numbers of a limit", () => {
  it.each([
    [{ limit: 1, window: "1ms" }],
    [{ limit: 1_000_000_000, window: "1m" }],
    [{ limit: 1, window: "31d", buckets: 60 }],
    // 2^53 - 1 = 6361 * 69431 * 20394401.
    [{ limit: 20_394_401, window: `${6361 * 69_431}ms` }],
  ])("may be %j", (limit) => {
    expect(mistakesOf({ name: "api", limits: [limit] })).toEqual([]);
  });

  it.each([
    [{ limit: 0, window: "1s" }, "ERR_POLICY_LIMIT", "limit", "0"],
    [{ limit: 1_000_000_001, window: "1s" }, "ERR_POLICY_LIMIT", "limit", "1000000001"],
    [{ limit: 1.5, window: "1s" }, "ERR_POLICY_LIMIT", "limit", "1.5"],
    [{ limit: "1e3", window: "1s" }, "ERR_POLICY_LIMIT", "limit", '"1e3"'],
    [{ window: "1s" }, "ERR_POLICY_LIMIT", "limit", "nothing"],
    [{ limit: 1, window: 0 }, "ERR_POLICY_WINDOW", "window", "0"],
    [{ limit: 1, window: 0.5 }, "ERR_POLICY_WINDOW", "window", "0.5"],
    [{ limit: 1, window: "32d" }, "ERR_POLICY_WINDOW", "window", '"32d"'],
    [{ limit: 1, window: "2678400001ms" }, "ERR_POLICY_WINDOW", "window", '"2678400001ms"'],
    [{ limit: 1, window: "1s", buckets: 61 }, "ERR_POLICY_BUCKETS", "buckets", "61"],
    [{ limit: 1, window: "1s", buckets: 3 }, "ERR_POLICY_BUCKETS", "buckets", "3"],
  ])("may not be %j", (limit, code, field, found) => {
    const [mistake, ...others] = mistakesOf({ name: "api", limits: [limit] });
    expect(mistake).toEqual({ code, path: `policies[0].limits[0].${field}`, expected: expect.any(String), found });
    expect(others).toEqual([]);
  });

  it("must keep limit * bucket below 2^53, and the error names the largest limit that would", () => {
    const withLimit = (limit: number) => mistakesOf({ name: "api", limits: [{ limit, window: "31d", buckets: 2 }] });

    const [mistake, ...others] = withLimit(1_000_000_000);
    expect(others).toEqual([]);
    expect(mistake).toMatchObject({
      code: "ERR_POLICY_RANGE",
      path: "policies[0].limits[0].limit",
      found: "1000000000",
    });
    const [, largest] = /a limit of at most (\d+) with buckets of 1339200000 ms/.exec(mistake!.expected)!;
    expect(withLimit(Number(largest))).toEqual([]);
    expect(withLimit(Number(largest) + 1)).toMatchObject([{ code: "ERR_POLICY_RANGE" }]);
  });
});

describe("mistakes", () => {
  it("are all reported at once, in the order of the policies, each with its place, expectation, finding and code", () => {
    const mistakes = mistakesOf(
      { name: "one", limits: [{ limit: -1, window: "1x" }], mode: "audit", colour: "red" },
      "two",
      { name: "one", limits, match: { path: "login" } },
    );
    expect(mistakes.map(({ path, code, found }) => [path, code, found])).toEqual(
      expect.arrayContaining([
        ["policies[0].limits[0].limit", "ERR_POLICY_LIMIT", "-1"],
        ["policies[0].limits[0].window", "ERR_POLICY_WINDOW", '"1x"'],
        ["policies[0].mode", "ERR_POLICY_MODE", '"audit"'],
        ["policies[0].colour", "ERR_POLICY_FIELD", '"red"'],
        ["policies[1]", "ERR_POLICY_TYPE", '"two"'],
        ["policies[2].match.path", "ERR_POLICY_MATCH", '"login"'],
        ["policies[2].name", "ERR_POLICY_NAME_TAKEN", '"one", the name of policies[0]'],
      ]),
    );
    expect(mistakes).toHaveLength(7);
    for (const { expected } of mistakes) expect(expected).not.toBe("");
  });

  it("include names and costs that only clash with others", () => {
    expect(
      mistakesOf({ name: "a-1", limits }, { name: "a", limits: [...limits, { limit: 1, window: "1m" }] }),
    ).toMatchObject([
      { code: "ERR_POLICY_LIMIT_ID_TAKEN", path: "policies[1].name", found: '"a-1", an id that policy "a-1" has too' },
    ]);
    expect(mistakesOf({ name: "a", limits, cost: [{ cost: 10 }, { cost: 11 }] })).toMatchObject([
      { code: "ERR_POLICY_COST_NEVER", path: "policies[0].cost[1].cost", found: "11" },
    ]);
    expect(mistakesOf({ name: "a", limits: [...limits, { limit: 20, window: "1000ms" }] })).toMatchObject([
      { code: "ERR_POLICY_LIMIT_TWICE", path: "policies[0].limits[1]" },
    ]);
  });

  it("of a limiter are thrown when it is constructed, all in one message", () => {
    const policies = [{ name: "A", limits: [{ limit: 0, window: "1s" }] }] as const;
    const construct = () => createLimiter({ policies, store: memoryStore() });
    expect(construct).toThrow(ConfigurationError);
    expect(construct).toThrow(/^2 mistakes in the configuration:\n.*ERR_POLICY_NAME.*\n.*ERR_POLICY_LIMIT/);
  });

  it.each([[undefined], [null], [[]], ["api"], [{}]])("are also made by %j in place of a list", (input) => {
    expect(parsePolicies(input, "POLICIES").mistakes).toMatchObject([
      { code: "ERR_POLICIES_MISSING", path: "POLICIES" },
    ]);
  });
});
