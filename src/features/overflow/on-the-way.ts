/** `overflow`: the policies that may pay in place of another. */

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
