/** The numbers that hold for one client: those of the policy, of the client's plan, or of the program. */

import { BoundedMap } from "../bounded-map.ts";
import { misfit, timesFactor, withWritten } from "../core/numbers.ts";
import type { Limit, Numbers, Policy } from "../core/policy.ts";
import { toWritten } from "../core/units.ts";

/** Variants of one policy that are remembered, about 1 KiB each. Any other is made again. */
const MAX_VARIANTS = 1_000;

/** Policies with other numbers, by policy and change. The same change gives the same objects. */
const variants = new WeakMap<Policy, BoundedMap<string, Policy>>();

/**
 * The policy with other numbers for some of its limits. Ids of other policies are passed over.
 *
 * @throws {TypeError} for a number that is out of range or does not fit.
 */
export function withNumbers(policy: Policy, numbers: Numbers = {}): Policy {
  const numberOf = ({ id }: Limit) => (Object.hasOwn(numbers, id) ? numbers[id] : undefined);
  return variantOf(policy, `${policy.limits.map((limit) => `${numberOf(limit)}`)}`, (limit) => {
    const number = numberOf(limit);
    return number === undefined ? limit : withWritten(limit, number);
  });
}

/**
 * The policy with every limit, and every `burst`, multiplied: rounded down, at least 1.
 *
 * @throws {TypeError} if the factor is not a number above 0, or if a product is out of range or does not fit.
 */
export function withFactor(policy: Policy, factor: number): Policy {
  if (typeof factor !== "number" || !(factor > 0)) {
    throw new TypeError(`factor: expected a number above 0, found ${String(factor)}`);
  }
  return variantOf(policy, `*${factor}`, (limit) => timesFactor(limit, factor));
}

function variantOf(policy: Policy, name: string, change: (limit: Limit) => Limit): Policy {
  const known = variants.get(policy) ?? new BoundedMap<string, Policy>({ maxSize: MAX_VARIANTS });
  let variant = known.get(name);
  if (variant) return variant;
  const limits = policy.limits.map((limit) => {
    const changed = change(limit);
    const expected = misfit(changed);
    if (!expected) return changed;
    const found = String(toWritten(changed.limit, limit.unit));
    throw new TypeError(`limits: ${limit.id}: expected ${expected}; found ${found}`);
  });
  variant = limits.some((limit, l) => limit !== policy.limits[l]) ? { ...policy, limits } : policy;
  known.set(name, variant);
  variants.set(policy, known);
  return variant;
}

/** What a request or a program says about the numbers of a client. */
export interface OwnNumbers {
  /** The name of the client's plan. Absent, or not a plan of the policy: the limits as written. */
  readonly plan?: string | undefined;
  /** Numbers by the ids of limits. They come before those of the plan. */
  readonly limits?: Numbers | undefined;
}

/** Whether the policy has a plan of this name. */
export function hasPlan({ plans }: Policy, plan: unknown): plan is string {
  return typeof plan === "string" && Object.hasOwn(plans ?? {}, plan);
}

/** Makes what finds a client's numbers. @param policies all policies of the limiter: the ids of each may be named. */
export function numbersOf(policies: readonly Policy[]): (policy: Policy, own: OwnNumbers) => Policy {
  const ids = policies.flatMap(({ limits }) => limits.map(({ id }) => id));

  return (policy, { plan, limits }) => {
    const planned = hasPlan(policy, plan) ? withNumbers(policy, policy.plans![plan]) : policy;
    if (!limits) return planned;
    const unknown = typeof limits === "object" ? Object.keys(limits).find((id) => !ids.includes(id)) : limits;
    if (unknown === undefined) return withNumbers(planned, limits);
    throw new TypeError(`limits: expected the ids ${ids.join(", ")}; found ${JSON.stringify(unknown)}`);
  };
}
