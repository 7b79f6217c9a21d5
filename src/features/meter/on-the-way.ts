/** `meter`: an estimate is reserved, and what the answer has used is settled. */

import { notRead } from "../../kernel/http/body.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { refusalWith } from "../../kernel/http/refusal.ts";
import { SlowBody } from "../../kernel/request/request-body.ts";
import { Expected, earlyUnits } from "./expected.ts";
import { errorBody } from "./llm/errors.ts";
import { formatOf } from "./llm/format.ts";
import { MeteredRequest } from "./metered-request.ts";
import type { OnSettled, SettledAnswer } from "./settled.ts";

declare module "../../kernel/http/passage.ts" {
  interface Passage {
    /** What its body lets expect. Absent: no policy of the request has a meter, or there is no body. */
    expected?: Expected;
    /** Whether it has a cost under the policies that are asked. */
    isMetered?: boolean;
    metered?: MeteredRequest;
  }
}

declare module "../../kernel/http/feature.ts" {
  interface WayOptions {
    /** They get what the answers of language models have used, under policies with a `meter`. */
    readonly onSettled?: readonly OnSettled[];
  }
}

export const meter: Feature = {
  name: "meter",
  needs: ["body", "reserve", "slots", "providerErrors"],
  isUsed: (policies) => policies.some((policy) => policy.meter),
  body: {
    looksAt: ({ meter }) => meter !== undefined,
    early: (request, { meter }) => earlyUnits(request, meter!),
    read(passage, body) {
      passage.expected = new Expected(passage.request, body);
    },
  },
  around: (inner, { onSettled = [] }, way) => ({
    async enter(passage) {
      try {
        return await inner.enter(passage);
      } catch (error) {
        if (error instanceof SlowBody) return await notRead(passage, "slow", way);
        throw error;
      }
    },
    ask(passage, asked) {
      if (!asked.some(({ policy }) => policy.meter)) return inner.ask(passage, asked);
      const { expected } = passage;
      passage.isReserving = passage.isMetered = expected !== undefined;
      const priced = asked.map((one) => {
        const { meter } = one.policy;
        if (!meter) return one;
        // A request that is not metered only looks: nothing would settle it.
        return expected ? { ...one, cost: expected.units(meter) } : { ...one, cost: 0, onlyLooks: true };
      });
      return inner.ask(passage, priced);
    },
    pass(passage) {
      const { reservation, expected, background } = passage;
      if (!passage.isMetered) return inner.pass(passage);
      const tell = (answer: SettledAnswer) => {
        for (const listener of onSettled) listener(answer, background);
      };
      passage.metered = new MeteredRequest(reservation!, expected!, passage.leaving(), tell);
      passage.held = passage.metered;
      return inner.pass(passage);
    },
    async send(passage, outgoing) {
      const { metered, lingering } = passage;
      if (!metered) return await inner.send(passage, outgoing);
      // The program's own rules may have read the body.
      const request = await passage.unread();
      return await metered.answer(request, lingering!, (one) => inner.send(passage, one));
    },
  }),
};

/**
 * Where a policy of the request has a meter, also in shadow: as the providers write theirs. Their clients show the
 * message, and those of OpenAI and Anthropic obey the wait.
 */
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
