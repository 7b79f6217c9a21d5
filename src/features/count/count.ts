/** `count`: which requests stay charged is decided by the status of their answers. */

import type { Feature } from "../../kernel/http/feature.ts";
import { isUnlearned } from "../../kernel/http/passage.ts";
import type { MatchedReservation } from "../../kernel/limiter/reservation.ts";
import { counts } from "./status.ts";

export const count: Feature = {
  name: "count",
  needs: ["reserve"],
  isUsed: (policies) => policies.some((policy) => policy.count),
  around: (inner) => ({
    take(passage, takes) {
      if (passage.matched.some(({ policy }) => policy.count)) passage.isReserving = true;
      return inner.take(passage, takes);
    },
    async pass(passage) {
      const { reservation } = passage;
      if (!reservation) return await inner.pass(passage);
      let status: number | undefined;
      try {
        const answer = await inner.pass(passage);
        status = isUnlearned(answer) ? undefined : answer.status;
        return answer;
      } finally {
        // Before the body has ended. It is not waited for.
        void settleByStatus(reservation, status);
      }
    },
  }),
};

/** Gives units back to policies that do not count this status. undefined: nobody has learned it, and all stay. */
export async function settleByStatus(reservation: MatchedReservation, status: number | undefined): Promise<void> {
  const { policies } = reservation.decision;
  const free = status === undefined ? [] : policies.filter(({ policy: { count } }) => count && !counts(count, status));
  await reservation.settleFirst(Object.fromEntries(free.map(({ policy }) => [policy.name, 0])));
  reservation.ended();
}
