/** Requests whose cost is known only after the answer reserve units: those with a meter, and those with `count`. */

import type { MatchedReservation } from "../../limiter/reserve/reservation.ts";
import type { Feature } from "../feature.ts";

declare module "../passage.ts" {
  interface Passage {
    /** Absent: what is charged stays charged. */
    reservation?: MatchedReservation;
    /** Some policy of the request settles afterwards. */
    isReserving?: boolean;
  }
}

export const reserve: Feature = {
  isUsed: (policies) => policies.some(({ meter, count }) => meter || count),
  around: (inner, { limiter }) => ({
    async take(passage, takes) {
      const { matched, isReserving, region, background } = passage;
      if (!isReserving && !matched.some(({ policy }) => policy.count)) return await inner.take(passage, takes);
      passage.reservation = await limiter.reserveMatched(takes, region, background);
      return passage.reservation.decision;
    },
  }),
};
