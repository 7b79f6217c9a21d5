// The entries of fields by themselves: what policies.test.ts and the fixtures say of their values is not said again.

import { expect, it } from "vitest";
import { FIELDS, parsePolicies } from "../../../src/features/configuration.ts";
import type { Field } from "../../../src/kernel/config/fields/field.ts";
import { describeMistake } from "../../../src/kernel/config/mistake.ts";

const limits = [{ limit: 10, window: "1m" }];

function mistakesOf(policy: object): string[] {
  return (parsePolicies([{ name: "api", limits, ...policy }], "policies").mistakes ?? []).map(describeMistake);
}

const DOLLARS = { unit: "usd", prices: { default: { input: 1, output: 2 } } };

it.each<[what: string, policy: object, message: string]>([
  [
    "a list in place of a table",
    { match: ["/v1"] },
    'policies[0].match: expected a table with method, path, host, rpc, tool or body; found ["/v1"] (ERR_POLICY_MATCH)',
  ],
  [
    "a list in place of a limit",
    { limits: [[10]] },
    "policies[0].limits[0]: expected a list of 1 to 8 limits; found [10] (ERR_POLICY_LIMITS)",
  ],
  [
    "a window of another algorithm beside a meter",
    { meter: DOLLARS, limits: [{ algorithm: "calendar", limit: 5, window: "1d" }] },
    'policies[0].limits[0].window: expected "day" or "week" or "month" or "year"; or algorithm = "fixed-window"; found "1d" (ERR_POLICY_WINDOW)',
  ],
  [
    "a field that every object has",
    { match: { path: "/v1/*", constructor: 1 } },
    "policies[0].match.constructor: expected only the fields method, path, host, rpc, tool, body; found 1 (ERR_POLICY_FIELD)",
  ],
])("say what is wrong with %s", (_, policy, message) => {
  expect(mistakesOf(policy)).toEqual([message]);
});

it("that are absent in an overflow are those with a default or none that the policy before it says", () => {
  const ofHead = Object.entries<Field>(FIELDS).filter(([, { isOfHead }]) => isOfHead);
  for (const [name, { isOptional, default: usual }] of ofHead) {
    expect(isOptional ?? usual !== undefined, name).toBe(true);
  }
});
