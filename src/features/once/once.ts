/** `once`: the id by which a request is known again. */

import type { Feature } from "../../kernel/http/feature.ts";
import { namedOnce } from "../../kernel/http/key.ts";
import { sameRequest } from "../../kernel/http/match.ts";

export const once: Feature = {
  name: "once",
  isUsed: (policies) => policies.some((policy) => policy.once),
  around: (inner) => ({
    async ask(passage, asked) {
      const { request, region } = passage;
      const takes = await inner.ask(passage, asked);
      return takes.map((take) => {
        const id = take.policy.once && namedOnce(take.policy.once.source, request, region);
        return id ? { ...take, once: [...id, ...sameRequest(request)] } : take;
      });
    },
  }),
};
