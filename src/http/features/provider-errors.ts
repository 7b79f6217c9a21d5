/**
 * Where a policy of the request has a meter, also in shadow: refusals as the providers write theirs. Their clients show
 * the message, and those of OpenAI and Anthropic obey the wait.
 */

import { errorBody } from "../../llm/errors.ts";
import { formatOf } from "../../llm/format.ts";
import type { Feature } from "../feature.ts";
import { refusalWith } from "../refusal.ts";

export const providerErrors: Feature = {
  name: "providerErrors",
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
