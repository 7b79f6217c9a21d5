// Policies of every kind, for tests of the live document.

import { parsePolicies } from "../../../src/features/configuration.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Policy } from "../../../src/kernel/core/policy.ts";

const INPUT: readonly PolicyInput[] = [
  {
    name: "api",
    key: ["ip"],
    limits: [
      { limit: 10, window: "1s" },
      { limit: 600, window: "1m" },
    ],
  },
  {
    name: "login",
    limits: [{ algorithm: "fixed-window", limit: 5, window: "1m" }],
    cost: [{ method: "PUT", cost: 3 }],
  },
  { name: "month", limits: [{ limit: 1_000, window: "31d" }] },
  { name: "bucket", limits: [{ algorithm: "token-bucket", limit: 10, window: "1h", burst: 20 }] },
  { name: "log", limits: [{ algorithm: "sliding-log", limit: 100, window: "1m" }] },
  { name: "slots", limits: [{ algorithm: "concurrency", limit: 4 }] },
  // A policy may have this name, and every object has a member of this name.
  { name: "constructor", limits: [{ limit: 10, window: "1m" }] },
];

export function checkedPolicies(input: readonly unknown[]): readonly Policy[] {
  const parsed = parsePolicies(input, "POLICIES");
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  return parsed.value;
}

export const POLICIES = checkedPolicies(INPUT);

/** The policy of this name. */
export function policyOf(name: string): Policy {
  return POLICIES.find((policy) => policy.name === name)!;
}

/** The same policies; `slots` has the plan `pro`. */
export const WITH_PLANS = checkedPolicies(
  INPUT.map((policy) => (policy.name === "slots" ? { ...policy, plans: { pro: { slots: 50 } } } : policy)),
);

/** Partitions of clients, as `src/kernel/request/hash.ts` makes them. */
export const [ANN, BOB] = ["AAAAAAAAAAAAAAAAAAAAAA", "b-B_b-B_b-B_b-B_b-B_b-"];

/** The fingerprint of the running key secret. */
export const OWN_SECRET = "own-own-own-own-own-ow";
