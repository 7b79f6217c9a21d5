/** From the applied policies to the keys of the store. */

import { hasLimitKey } from "../core/algorithms.ts";
import { MAX_LIMITS } from "../core/layout.ts";
import type { Limit, Policy } from "../core/policy.ts";
import { ENFORCED } from "../core/take.ts";
import type { AskedKey } from "../place/taker.ts";
import type { AppliedPolicy, PolicyKey } from "./decide.ts";
import { storeKey } from "./store-key.ts";

const SCOPES = ["global", "region"] as const;

/** Behind the partition of a client's preflights: a count of their own, of the same size. */
export const PREFLIGHT = "#preflight";

/** Says more about a key of the store than who is counted, and under which limits. */
export type MoreOfKey = (request: { -readonly [K in keyof AskedKey]: AskedKey[K] }, take: AppliedPolicy) => void;

/** The keys of the store of a request. @param region called only if a limit counts by region. */
export type KeysOf = (takes: readonly AppliedPolicy[], region: () => string) => PolicyKey[];

/** Makes one key per policy, partition and scope. The braces of a key are the cluster hash tag. */
export function keysFor(namespace: string | undefined, more: readonly MoreOfKey[] = []): KeysOf {
  return (takes, region) => {
    let shadowPolicies = 0;
    const keys: PolicyKey[] = [];
    for (let t = 0; t < takes.length; t++) {
      const take = takes[t]!;
      const { policy, partition, cost, isPreflight } = take;
      let group = ENFORCED;
      let onFailure = policy.onStoreFailure;
      if (policy.mode === "shadow") {
        group = ++shadowPolicies;
        // It never blocks a request.
        if (onFailure === "deny") onFailure = "allow";
      }
      const base = storeKey(policy.name, isPreflight ? `${partition}${PREFLIGHT}` : partition, namespace);
      for (const scope of SCOPES) {
        const isOfScope = (limit: Limit) => limit.scope === scope;
        // Most policies have one scope: no list is made, and none is kept beside what the isolate remembers.
        const limits = policy.limits.every(isOfScope) ? policy.limits : policy.limits.filter(isOfScope);
        if (limits.length === 0) continue;
        const request = { key: scope === "global" ? base : `${base}:${region()}`, group, cost, limits };
        for (const say of more) say(request, take);
        keys.push({ take: t, policy, limits, request, onFailure });
      }
    }
    return keys;
  };
}

/** What `keysPerClient` returns at most: two keys for each scope, a limit key for each limit, and a ban. */
export const MOST_KEYS_OF_CLIENT = 2 * SCOPES.length + MAX_LIMITS + 1;

/** How many keys of the store a policy has for each client: with limit keys, with the keys of one id, and a ban. */
export function keysPerClient({ limits, once, ban }: Policy): number {
  const scopes = SCOPES.filter((scope) => limits.some((limit) => limit.scope === scope));
  return scopes.length * (once ? 2 : 1) + limits.filter(hasLimitKey).length + (ban ? 1 : 0);
}
