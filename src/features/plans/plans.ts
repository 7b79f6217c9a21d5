/** `plan`: the plan that a request names. */

import type { Feature } from "../../kernel/http/feature.ts";
import { namedPlan } from "../../kernel/http/key.ts";

export const plans: Feature = {
  name: "plans",
  isUsed: (policies) => policies.some(({ plan }) => plan),
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
