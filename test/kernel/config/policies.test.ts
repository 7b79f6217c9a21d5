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
        ...{ name: "api", match: {}, key: ["ip"], cost: [], consistency: "strict", mode: "enforce" },
        ...{ onStoreFailure: "local", documented: true },
        limits: [
          {
            ...{ id: "api", algorithm: "sliding-window", scope: "global" },
            ...{ kind: Kind.weighted, limit: 10, bucketMs: 1000, buckets: 1 },
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
