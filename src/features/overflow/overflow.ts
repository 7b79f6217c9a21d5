/** `overflow`: the policies that may pay in place of another, and who has paid. */

import { ConfigurationError } from "../../kernel/config/mistake.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import type { Asked, Feature } from "../../kernel/http/feature.ts";
import { sharedOverflows } from "./paid-twice.ts";

/** A policy that is asked, and as in `AppliedPolicy` its place in a chain. */
type Linked<A extends Asked> = A & { readonly link?: number };

export const overflow: Feature = {
  name: "overflow",
  needs: ["payer"],
  warn: overflowWarnings,
  isUsed: (policies) => policies.some(({ chain }) => chain),
  around(inner, { limiter }) {
    const mistakes = sharedOverflows(limiter.policies, (i) => `policies[${i}]`);
    if (mistakes.length > 0) throw new ConfigurationError(mistakes);
    return {
      async ask(passage, asked) {
        const all = withLinks(asked);
        const takes = await inner.ask(passage, all);
        if (all === asked) return takes;
        return takes.map((take, i) => {
          const { link } = all[i]!;
          return link === undefined ? take : { ...take, link };
        });
      },
    };
  },
};

/** Units of a policy may be out in other isolates when this one finds none left. */
function overflowWarnings({ name, consistency, overflow }: Policy): string[] {
  if (!overflow || consistency === "strict") return [];
  return [
    `policy ${name} has consistency = "${consistency}" and an overflow: ${overflow} may pay while other instances can still use ${name}. If ${name} must be used up first, use "strict"`,
  ];
}

/** The policies that are asked: each that matches, and behind it its chain. Without any chain, the same list. */
export function withLinks<A extends Asked>(matched: readonly A[]): readonly Linked<A>[] {
  if (!matched.some(({ policy }) => policy.chain)) return matched;
  return matched.flatMap((one): readonly Linked<A>[] => {
    if (!one.policy.chain) return [one];
    return [one.policy, ...one.policy.chain].map((policy, link) => ({ ...one, policy, link }));
  });
}

/** The policies that paid for a request, on the request that goes on. A client's own header of this name is removed. */
export const PAID_BY = "Headgate-Paid-By";

/** Whether a request names payers. A client may have named them. */
export function namesPayer({ headers }: Request): boolean {
  return headers.has(PAID_BY);
}

/** Requests whose header another limiter around the same handler has set. */
const ours = new WeakSet<object>();

export const payer: Feature = {
  name: "payer",
  around: (inner) => ({
    async send(passage, outgoing) {
      const paidBy = passage.decision?.paidBy;
      const earlier = passage.request.headers.get(PAID_BY);
      const kept = earlier !== null && ours.has(passage.same) ? [earlier] : [];
      if (paidBy === undefined && (earlier === null || kept.length > 0)) return await inner.send(passage, outgoing);
      const payers = paidBy === undefined ? kept : [...kept, paidBy];
      const named = await passage.withHeader(outgoing, PAID_BY, payers.length > 0 ? payers.join(", ") : undefined);
      if (payers.length > 0) ours.add(named);
      return await inner.send(passage, named);
    },
  }),
};
