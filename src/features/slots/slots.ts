/** `concurrency`: a request keeps its slots until its answer has ended. So does what a meter has reserved. */

import { isConcurrency } from "../../kernel/core/concurrency.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import type { Passage } from "../../kernel/http/passage.ts";
import { type Held, keepSlots } from "./keep-slots.ts";

type Keep = (passage: Passage, held: Held, answer: (signal?: AbortSignal) => Promise<Response>) => Promise<Response>;

declare module "../../kernel/http/passage.ts" {
  interface Passage {
    /** What a meter keeps, with the slots. */
    held?: Held | undefined;
    /** Aborted when the request to the origin must end: not as soon as the client leaves. */
    lingering?: AbortSignal | undefined;
  }
}

declare module "../../kernel/http/feature.ts" {
  interface WayOptions {
    /** Keeps slots until the answer has ended. Default: as in front of a fetch handler. */
    readonly keep?: Keep;
    /** Requests go on to an origin, which works on when the client has left. */
    readonly isGateway?: true;
  }
}

export const slots: Feature = {
  name: "slots",
  isUsed: (policies) => policies.some(({ limits }) => limits.some(isConcurrency)),
  around: (inner, { keep = keepUntilEnd, isGateway }) => ({
    pass(passage) {
      const held = passage.held ?? passage.decision!.hold;
      if (!held) return inner.pass(passage);
      return keep(passage, held, async (signal) => {
        passage.lingering = signal;
        // A meter makes a request of its own.
        if (isGateway && !passage.held) passage.outgoing = new Request(passage.outgoing, { signal: signal! });
        return await inner.pass(passage);
      });
    },
  }),
};

const keepUntilEnd: Keep = ({ request, background }, held, answer) => keepSlots(held, request, background, answer);
