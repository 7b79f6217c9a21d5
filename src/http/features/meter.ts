/** `meter`: an estimate is reserved, and what the answer has used is settled. */

import { SlowBody } from "../../request-body.ts";
import type { Feature } from "../feature.ts";
import type { OnSettled } from "../meter/log-tokens.ts";
import { type MeteredRequest, meteredRequest, type Settling } from "../meter/meter.ts";
import { notRead } from "./body.ts";

declare module "../passage.ts" {
  interface Passage {
    /** Absent: the request is not metered. */
    metered?: MeteredRequest;
    settling?: Settling | undefined;
  }
}

declare module "../feature.ts" {
  interface WayOptions {
    /** They get what the answers of language models have used, under policies with a `meter`. */
    readonly onSettled?: readonly OnSettled[];
  }
}

export const meter: Feature = {
  isUsed: (policies) => policies.some((policy) => policy.meter),
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
      const { body, background } = passage;
      if (!asked.some(({ policy }) => policy.meter)) return await inner.ask(passage, asked);
      const metered = body && meteredRequest(body, background, onSettled);
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
