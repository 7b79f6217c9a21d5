/** Refusals in other words than those of a problem document. */

import { errorBody } from "../../llm/errors.ts";
import { formatOf } from "../../llm/format.ts";
import type { Feature } from "../feature.ts";
import { refusalWith } from "../refusal.ts";

/** `refusal`: a policy's own body. */
export const refusal: Feature = {
  isUsed: (policies) => policies.some((policy) => policy.refusal?.body !== undefined),
  around: (inner, options) => ({
    refuse(passage, reason) {
      return reason.own ? refusalWith(passage.request, reason, options, reason.own) : inner.refuse(passage, reason);
    },
  }),
};

/**
 * Where a policy of the request has a meter, also in shadow: as the providers write theirs. Their clients show the
 * message, and those of OpenAI and Anthropic obey the wait.
 */
export const providerErrors: Feature = {
  isUsed: (policies) => policies.some(({ meter }) => meter),
  around: (inner, options) => ({
    refuse(passage, reason) {
      const { request, matched } = passage;
      if (!matched.some(({ policy }) => policy.meter)) return inner.refuse(passage, reason);
      const { problem, retryAfterMs } = reason;
      const error = { status: problem.status, message: problem.detail, retryAfterMs };
      return refusalWith(request, reason, options, { body: errorBody(formatOf(request), error) });
    },
  }),
};
