/** `concurrency`: a request keeps its slots until its answer has ended. So does what a meter has reserved. */

import { isConcurrency } from "../../kernel/core/concurrency.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { Kept, type Passage } from "../../kernel/http/passage.ts";
import { type Held, keepSlots } from "./keep-slots.ts";

type Keep = (passage: Passage, held: Held, answer: (signal?: AbortSignal) => Promise<Response>) => Promise<Response>;

/** What a meter keeps, with the slots. */
export const held = new Kept<Held>();
/** Aborted when the request to the origin must end: not as soon as the client leaves. */
export const lingering = new Kept<AbortSignal>();

/** @param keep holds slots until the answer has ended. Default: as in front of a fetch handler. */
export const slots = (keep: Keep = keepUntilEnd): Feature => ({
  name: "slots",
  isUsed: (policies) => policies.some(({ limits }) => limits.some(isConcurrency)),
  around: (inner) => ({
    pass(passage) {
      const hold = held.of(passage) ?? passage.decision!.hold;
      if (!hold) return inner.pass(passage);
      return keep(passage, hold, async (signal) => {
        lingering.set(passage, signal);
        return await inner.pass(passage);
      });
    },
  }),
});

const keepUntilEnd: Keep = ({ request, background }, hold, answer) => keepSlots(hold, request, background, answer);

/** In front of an origin, which works on when the client has left. A meter makes a request of its own. */
export const keepAtOrigin: Keep = (passage, hold, answer) =>
  keepUntilEnd(passage, hold, (signal) => {
    if (!held.of(passage)) passage.outgoing = new Request(passage.outgoing, { signal: signal! });
    return answer(signal);
  });
