/** `once`: the id by which a request is known again. */

import type { Policy } from "../../kernel/core/policy.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { namedOnce } from "../../kernel/http/key.ts";
import { sameRequest } from "../../kernel/http/match.ts";

export const once: Feature = {
  name: "once",
  isUsed: (policies) => policies.some((policy) => policy.once),
  warn: onceWarnings,
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

/** An id must differ from one request of a client to the next. */
function onceWarnings({ name, key, once }: Policy): string[] {
  if (!once || !key.some((kind) => kind.toLowerCase().split("+").includes(once.source.toLowerCase()))) return [];
  const { source, repeats } = once;
  return [
    `policy ${name} has once = "${source}", which is part of its key: all requests of a client have the same id, and ${repeats} of ${repeats + 1} are not counted`,
  ];
}
