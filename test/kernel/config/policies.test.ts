import { describe, expect, it } from "vitest";
import { FIELDS, parsePolicies } from "../../../src/features/configuration.ts";
import type { Field } from "../../../src/kernel/config/fields/field.ts";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { checkedPolicies } from "../../features/live/policies.ts";

const limits = [{ limit: 10, window: "1s" }];

const policiesOf = (...input: unknown[]) => checkedPolicies(input);
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

  it.each(["a", "0", "a-", "api-v1-users-0123456789abcdefgh", "a".repeat(32)])("may be called %s", (name) => {
    expect(policiesOf({ name, limits })[0]?.limits[0]?.id).toBe(name);
  });

  it.each(["", "-a", "A", "a_b", "a b", "a:b", "{a}", "ä", "a".repeat(33), 7, null])("may not be called %j", (name) => {
    expect(mistakesOf({ name, limits })).toMatchObject([{ code: "ERR_POLICY_NAME", path: "policies[0].name" }]);
  });

  it("may have eight limits", () => {
    const eight = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => ({ limit: 1, window: `${n}s` }));
    expect(policiesOf({ name: "api", limits: eight })[0]?.limits.map(({ id }) => id)).toEqual(
      eight.map((_, n) => `api-${n + 1}`),
    );
  });

  it.each([
    [{ limit: 1, window: "1ms" }],
    [{ limit: 1_000_000_000, window: "1m" }],
    [{ limit: 1, window: "31d", buckets: 60 }],
    // 2^53 - 1 = 6361 * 69431 * 20394401.
    [{ limit: 20_394_401, window: `${6361 * 69_431}ms` }],
  ])("may have the limit %j", (limit) => {
    expect(mistakesOf({ name: "api", limits: [limit] })).toEqual([]);
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
