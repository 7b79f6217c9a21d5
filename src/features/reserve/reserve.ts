/** Requests whose cost is known only after the answer reserve units. */

import type { Feature } from "../../kernel/http/feature.ts";
import type { MatchedReservation } from "../../kernel/limiter/reservation.ts";

declare module "../../kernel/http/passage.ts" {
  interface Passage {
    /** Absent: what is charged stays charged. */
    reservation?: MatchedReservation;
    /** Some policy of the request settles afterwards. */
    isReserving?: boolean;
  }
}

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
