/** `plan`: the plan that a request names. */

import { isClaim } from "../../kernel/config/identity.ts";
import { isChosen } from "../../kernel/config/warnings.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { namedPlan } from "../../kernel/http/key.ts";

export const plans: Feature = {
  name: "plans",
  isUsed: (policies) => policies.some(({ plan }) => plan),
  warn: planWarnings,
  around: (inner) => ({
    async ask(passage, asked) {
      const { request, region } = passage;
      const takes = await inner.ask(passage, asked);
      return takes.map((take) => {
        const source = take.policy.plan;
        return source && !take.plan ? { ...take, plan: namedPlan(source, request, region) } : take;
      });
    },
  }),
};

/** A client that names its own plan takes the largest. A plan outside of the key can change with every request. */
function planWarnings({ name, key, plan }: Policy, isGuarded: () => boolean): string[] {
  if (plan === undefined) return [];
  if (isChosen(plan) && !isGuarded()) {
    return [
      `policy ${name} reads plans from ${plan}, which a client can change at will: set it in front of the gateway, and add a policy with key "ip" for the same requests`,
    ];
  }
  if (key.every((kind) => kind.split("+").includes(plan))) return [];
  // Both are claims of one token: its issuer sees to it that they fit together.
  if (isClaim(plan) && key[0]!.split("+").some(isClaim)) return [];
  return [
    `policy ${name} reads plans from ${plan}, which is not part of its key: requests that count together may name different plans`,
  ];
}
