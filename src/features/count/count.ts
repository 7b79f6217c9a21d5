/** `count`: which requests stay charged is decided by the status of their answers. */

import type { Ending } from "../../kernel/core/policy.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { isUnlearned } from "../../kernel/http/passage.ts";
import type { MatchedReservation } from "../../kernel/limiter/reservation.ts";

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
      let ending: Ending | undefined;
      try {
        const answer = await inner.pass(passage);
        ending = isUnlearned(answer) ? undefined : endingBy(answer.status);
        return answer;
      } finally {
        // Before the body has ended. It is not waited for.
        void settleByStatus(reservation, ending);
      }
    },
  }),
};

/** Gives units back to policies that count only the other ending. undefined: nobody has learned it, and all stay. */
export async function settleByStatus(reservation: MatchedReservation, ending: Ending | undefined): Promise<void> {
  const { policies } = reservation.decision;
  const others = ending ? policies.filter(({ policy: { count } }) => count && count !== ending) : [];
  await reservation.settleFirst(Object.fromEntries(others.map(({ policy }) => [policy.name, 0])));
  reservation.ended();
}

export function endingBy(status: number): Ending {
  return status >= 400 ? "failures" : "successes";
}
