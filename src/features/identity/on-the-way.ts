/** Claims of verified tokens as keys, plans and ids: the token is verified before they are read. */

import type { Feature } from "../../kernel/http/feature.ts";

export const identity: Feature = {
  name: "identity",
  isUsed: (_, { limiter }) => limiter.identify !== undefined,
  around: (inner, { limiter }) => ({
    async ask(passage, asked) {
      // Requests that need no claim, or bring no token, wait for nothing.
      const identifying = limiter.identify!(passage.request, asked, passage.background);
      if (identifying) await identifying;
      return await inner.ask(passage, asked);
    },
  }),
};
