/** Policies with `once`: the id of a request is part of what its store is asked. */

import type { PartOf } from "../../kernel/limiter/part.ts";

export const once: PartOf = {
  name: "once",
  isUsed: ({ once }) => once !== undefined,
  make: (hash) => ({
    apply(applied, { policy, cost, once }) {
      if (!once || !policy.once || cost === 0) return;
      applied.once = hash({ kind: "once", values: [...once, String(cost)] }, false);
      // Only the script knows ids.
      applied.isStrict = true;
    },
    ask(request, { policy: { once }, once: id }) {
      if (once && id !== undefined) request.once = { id, forMs: once.forMs, repeats: once.repeats };
    },
  }),
};
