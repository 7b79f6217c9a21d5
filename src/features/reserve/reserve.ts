/** Requests whose cost is known only after the answer reserve units. */

import type { Feature } from "../../kernel/http/feature.ts";

export const reserve: Feature = {
  name: "reserve",
  around: (inner, { limiter }) => ({
    async take(passage, takes) {
      const { isReserving, region, background } = passage;
      if (!isReserving) return await inner.take(passage, takes);
      passage.reservation = await limiter.reserveMatched(takes, region, background);
      return passage.reservation.decision;
    },
  }),
};
