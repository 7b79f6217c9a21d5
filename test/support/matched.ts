// Takes as a request that matches has them: behind each policy the overflows of its chain.

import type { Policy } from "../../src/kernel/core/policy.ts";
import { GLOBAL } from "../../src/kernel/request/sources.ts";
import { type Limiter, namedKey, type PolicyTake, type Take, type TakeOptions } from "../../src/limiter.ts";

type Asking = Pick<TakeOptions, "background" | "plan">;

/** A client of every policy: the same methods as by hand, but a policy that refuses is followed by its overflow. */
export interface Matched {
  take(list: readonly PolicyTake[], options?: Asking): ReturnType<Limiter["takeMatched"]>;
  peek(list: readonly PolicyTake[]): ReturnType<Limiter["peekMatched"]>;
  reserve(list: readonly PolicyTake[], options?: Asking): ReturnType<Limiter["reserveMatched"]>;
}

/**
 * @param list policies, each followed by those of its overflows that have a key of their own. An overflow that is left
 * out has the client `global`.
 */
export function matchedBy(limiter: Limiter): Matched {
  const takes = (list: readonly PolicyTake[], options: Asking = {}) => takesOf(limiter.policies, list, options);
  const region = () => limiter.region;
  return {
    take: (list, options) => limiter.takeMatched(takes(list, options), region, options?.background),
    peek: (list) => limiter.peekMatched(takes(list), region),
    reserve: (list, options) => limiter.reserveMatched(takes(list, options), region, options?.background),
  };
}

function takesOf(policies: readonly Policy[], list: readonly PolicyTake[], options: Asking): Take[] {
  const takes: Take[] = [];
  let rest: readonly PolicyTake[] = list;
  while (rest.length > 0) {
    const [one, ...others] = rest as [PolicyTake, ...PolicyTake[]];
    rest = others;
    const policy = policies.find(({ name }) => name === one.policy)!;
    const cost = one.cost ?? 1;
    const take = (policy: Policy, { key, plan }: Omit<PolicyTake, "policy">, link?: number): Take => ({
      policy,
      key: key === undefined ? GLOBAL : namedKey(key),
      cost,
      plan: plan ?? options.plan,
      limits: undefined,
      ...(link !== undefined && { link }),
    });
    takes.push(take(policy, one, policy.chain && 0));
    for (const [i, link] of (policy.chain ?? []).entries()) {
      const named = rest[0]?.policy === link.name ? rest[0] : undefined;
      if (named) rest = rest.slice(1);
      takes.push(take(link, named ?? {}, i + 1));
    }
  }
  return takes;
}
