/** Who has paid for a request: what the request that goes on says of it. */

import type { Feature } from "../../kernel/http/feature.ts";

/** The policies that paid for a request, on the request that goes on. A client's own header of this name is removed. */
export const PAID_BY = "Headgate-Paid-By";

/** Whether a request names payers. A client may have named them. */
export function namesPayer({ headers }: Request): boolean {
  return headers.has(PAID_BY);
}

/** Requests whose header another limiter around the same handler has set. */
const ours = new WeakSet<object>();

export const payer: Feature = {
  name: "payer",
  around: (inner) => ({
    async send(passage, outgoing) {
      const paidBy = passage.decision?.paidBy;
      const earlier = passage.request.headers.get(PAID_BY);
      const kept = earlier !== null && ours.has(passage.same) ? [earlier] : [];
      if (paidBy === undefined && (earlier === null || kept.length > 0)) return await inner.send(passage, outgoing);
      const payers = paidBy === undefined ? kept : [...kept, paidBy];
      const named = await passage.withHeader(outgoing, PAID_BY, payers.length > 0 ? payers.join(", ") : undefined);
      if (payers.length > 0) ours.add(named);
      return await inner.send(passage, named);
    },
  }),
};
