/** `meter`: an estimate is reserved, and what the answer has used is settled. */

import { notRead } from "../../kernel/http/body.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { refusalWith } from "../../kernel/http/refusal.ts";
import { SlowBody } from "../../kernel/request/request-body.ts";
import { errorBody } from "./llm/errors.ts";
import { formatOf } from "./llm/format.ts";
import {
  type EstimatedBody,
  earlyUnits,
  estimatedBody,
  type MeteredRequest,
  meteredRequest,
  type Settling,
} from "./meter.ts";
import type { OnSettled } from "./settled.ts";

declare module "../../kernel/http/passage.ts" {
  interface Passage {
    /** What its body will use. Absent: no policy of the request has a meter, or there is no body. */
    estimated?: EstimatedBody;
    /** Absent: the request is not metered. */
    metered?: MeteredRequest;
    settling?: Settling | undefined;
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
      passage.estimated = estimatedBody(passage.request, body);
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
    async ask(passage, asked) {
      const { estimated, background } = passage;
      if (!asked.some(({ policy }) => policy.meter)) return await inner.ask(passage, asked);
      const metered = estimated && meteredRequest(estimated, background, onSettled);
      if (metered) {
        passage.metered = metered;
        passage.isReserving = true;
      }
      const priced = asked.map((one) => {
        if (!one.policy.meter) return one;
        // A request that is not metered only looks: nothing would settle it.
        return metered ? { ...one, cost: metered.unitsOf(one.policy.meter) } : { ...one, cost: 0, onlyLooks: true };
      });
      return await inner.ask(passage, priced);
    },
    async pass(passage) {
      const { metered, reservation } = passage;
      if (metered) {
        // The program's own rules may have read the body.
        passage.settling = metered.settling(reservation!, await passage.unread());
        passage.held = passage.settling.hold;
      }
      return await inner.pass(passage);
    },
    send(passage, outgoing) {
      const { settling, lingering } = passage;
      if (!settling) return inner.send(passage, outgoing);
      return settling.answer((one) => inner.send(passage, one), lingering!);
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
