/** Checks what the callers of a limiter name: policies, clients, costs. */

import { checkOptions, describeType } from "../check-options.ts";
import { checkRegion } from "../config/regions.ts";
import { MAX_UNITS } from "../core/layout.ts";
import type { Policy } from "../core/policy.ts";
import type { AppliedPolicy } from "./decide.ts";
import { keyByHand } from "./key-by-hand.ts";
import type { PolicyTake, Take, TakeOptions } from "./types.ts";

const KEYED_TYPES = { key: "any", kind: "any", cost: "number", plan: "string", limits: "object", once: "string" };
const PART_TYPES: Readonly<Record<keyof PolicyTake, string>> = { policy: "string", ...KEYED_TYPES };
/** The options of a take, for `checkOptions`. */
export const TAKE_TYPES: Readonly<Record<keyof TakeOptions, string>> = {
  ...KEYED_TYPES,
  region: "string",
  background: "object",
};

/**
 * The takes of a caller that names policies and keys in code.
 *
 * @param named the client of a take as it is counted: several keys may name one client. @throws {TypeError} for misuse.
 */
export function takesOf(
  policies: readonly Policy[],
  policy: string | readonly PolicyTake[],
  options: TakeOptions,
  ipv6Prefix: number,
  named: (take: Take) => Pick<AppliedPolicy, "policy" | "partition">,
): Take[] {
  checkOptions("take", options, TAKE_TYPES);
  if (typeof policy !== "string" && !Array.isArray(policy)) {
    const expected = 'expected the name of a policy, or a list such as [{ policy: "api", key: "ann" }]';
    throw new TypeError(`take: ${expected}; found ${describeType(policy)}`);
  }
  const list: readonly PolicyTake[] = typeof policy === "string" ? [{ ...options, policy }] : policy;
  if (list === policy) for (const [i, one] of list.entries()) checkOptions(`take: policies[${i}]`, one, PART_TYPES);
  if (list.length === 0) throw new TypeError("take: expected at least one policy");
  if (typeof policy !== "string" && (options.key !== undefined || options.kind !== undefined)) {
    throw new TypeError("take: in a list, each policy has its own key and kind");
  }
  if (options.region !== undefined) checkRegion(options.region);
  const takes = list.map((one): Take => {
    const found = policies.find(({ name }) => name === one.policy);
    if (!found) {
      const names = policies.map(({ name }) => name).join(", ");
      throw new TypeError(`take: no policy is named ${JSON.stringify(one.policy)}; there are ${names}`);
    }
    return {
      policy: found,
      key: keyByHand(found, one, ipv6Prefix),
      cost: checkCost(one.cost ?? options.cost ?? 1),
      plan: one.plan ?? options.plan,
      limits: one.limits ?? options.limits,
      once: onceByHand(one.once ?? options.once),
    };
  });
  const clients = () => new Set(takes.map(named).map(({ policy, partition }) => `${policy.name} ${partition}`));
  if (takes.length > 1 && clients().size < takes.length) throw new TypeError("take: the same policy and key twice");
  return takes;
}

/** An id that a caller makes up. No request has it: those name the source of their id first. */
function onceByHand(id: string | undefined): readonly string[] | undefined {
  if (id === "") throw new TypeError("take: expected once to be a non-empty string, found an empty one");
  return id === undefined ? undefined : ["", id];
}

/** @throws {TypeError} if the cost is not an integer of 0 … 10^9. */
export function checkCost(cost: number): number {
  if (Number.isSafeInteger(cost) && cost >= 0 && cost <= MAX_UNITS) return cost;
  throw new TypeError(`take: cost must be an integer from 0 to ${MAX_UNITS}, found ${String(cost)}`);
}
