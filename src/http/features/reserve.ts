/** Requests whose cost is known only after the answer reserve units. */

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
