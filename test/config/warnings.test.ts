// A client can avoid a policy whose keys it chooses itself. Such a policy is allowed, with a warning.

import { describe, expect, it } from "vitest";
import { parsePolicies } from "../../src/config/policies.ts";
import type { PolicyInput } from "../../src/config/policy-schema.ts";
import { policyWarnings } from "../../src/config/warnings.ts";

const limits = [{ limit: 1, window: "1m" }];

function warningsOf(...policies: Omit<PolicyInput, "limits">[]): string[] {
  const parsed = parsePolicies(
    policies.map((policy) => ({ ...policy, limits })),
    "policies",
  );
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  return policyWarnings(parsed.value);
}

/** The names of the policies that have a warning. */
function warnedOf(...policies: Omit<PolicyInput, "limits">[]): (string | undefined)[] {
  return warningsOf(...policies).map((warning) => /^policy (\S+) counts by/.exec(warning)?.[1]);
}

const chosen: Omit<PolicyInput, "limits"> = { name: "chosen", key: ["bearer", "ip"], match: { path: "/v1/*" } };

it.each(["bearer", "header:x-user", "cookie:sid", "query:u", "ip+bearer"])(
  "warns of a policy that a client can leave by changing its %s",
  (key) => {
    expect(warnedOf({ ...chosen, key: [key] })).toEqual(["chosen"]);
    expect(warnedOf({ ...chosen, key: [key, "ip"] })).toEqual(["chosen"]);
  },
);

it.each([["ip"], ["ip", "bearer"], ["global"], ["country", "asn"]])("does not of one by %s", (...key) => {
  expect(warnedOf({ name: "fixed", key })).toEqual([]);
});

it.each<[string, object]>([
  ["everything", {}],
  ["the same paths", { match: { path: "/v1/*" } }],
  ["more paths", { match: { path: ["/x", "/*"] } }],
  ["these paths in another spelling", { match: { path: "/%561//*" } }],
])("is satisfied by one that counts addresses on %s", (_, guard) => {
  expect(warnedOf(chosen, { name: "guard", key: ["ip"], ...guard })).toEqual([]);
});

it.each<[string, object]>([
  ["other paths", { key: ["ip"], match: { path: "/v2/*" } }],
  ["fewer methods", { key: ["ip"], match: { method: "GET" } }],
  ["one host", { key: ["ip"], match: { host: "a.example" } }],
  ["these paths in shadow", { key: ["ip"], mode: "shadow" }],
  ["these paths by token first", { key: ["bearer", "ip"] }],
])("is not satisfied by one that counts %s", (_, guard) => {
  expect(warnedOf(chosen, { name: "guard", ...guard })).toContain("chosen");
});

it.each([
  ["/v1", "/v1/*"],
  ["/login/", "/login"],
  ["/login", "/LOGIN"],
  ["/v1/:id?", "/v1/*"],
  ["/users/%40me", "/users/@me"],
  ["/anything/:id", "*"],
])("is satisfied, for %s, by one that counts addresses on %s", (path, guarded) => {
  const guard = { name: "guard", key: ["ip"], match: { path: guarded } };
  expect(warnedOf({ ...chosen, match: { path } }, guard)).toEqual([]);
});

it.each([
  ["/v10", "/v1/*"],
  ["/a/b", "/a/\\*"],
  ["/v1/*", "/v1"],
])("is not satisfied, for %s, by one that counts addresses on %s", (path, guarded) => {
  const guard = { name: "guard", key: ["ip"], match: { path: guarded } };
  expect(warnedOf({ ...chosen, match: { path } }, guard)).toEqual(["chosen"]);
});

describe("a plan", () => {
  const plans = { pro: { planned: 10 } };
  const guard = { name: "guard", key: ["ip"] };
  const CHOSEN = /^policy planned reads plans from \S+, which a client can change at will/;
  const OUTSIDE = /^policy planned reads plans from \S+, which is no part of its key/;

  it.each(["bearer", "header:x-plan", "cookie:plan", "query:plan"])(
    "that clients name by %s draws a warning",
    (plan) => {
      // A policy by address does not guard itself.
      expect(warningsOf({ name: "planned", key: ["ip"], plan, plans })).toEqual([expect.stringMatching(CHOSEN)]);
      // Another policy by address bounds what a client can take.
      expect(warningsOf({ name: "planned", key: ["ip"], plan, plans }, guard)).toEqual([
        expect.stringMatching(OUTSIDE),
      ]);
      expect(warningsOf({ name: "planned", key: [`ip+${plan}`], plan, plans }, guard)).toEqual([]);
    },
  );

  it.each(["country", "host", "region"])("by %s draws one if it is no part of every kind of key", (plan) => {
    expect(warningsOf({ name: "planned", key: ["ip"], plan, plans })).toEqual([expect.stringMatching(OUTSIDE)]);
    expect(warningsOf({ name: "planned", key: [`asn+${plan}`, "ip"], plan, plans })).toHaveLength(1);
    expect(warningsOf({ name: "planned", key: [`ip+${plan}`], plan, plans })).toEqual([]);
  });

  it("that only a program names draws none", () => {
    expect(warningsOf({ name: "planned", key: ["ip"], plans })).toEqual([]);
  });
});
