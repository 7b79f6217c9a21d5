/** Settles a reservation when the answer of a language model has passed. */

import type { Hold } from "../core/decision.ts";
import type { Meter } from "../core/policy.ts";
import type { createCut } from "./cut.ts";
import type { Estimate } from "./estimate.ts";
import { passThrough } from "./pass-through.ts";
import { createAnswerScanner } from "./scanner.ts";
import { usedUnits } from "./units.ts";
import type { Usage } from "./usage.ts";

/** What `meterResponse` needs of a reservation: those of `limiter.reserve` have it. */
export interface MeteredReservation {
  /** Units charged, by the name of the policy. */
  readonly reserved: Readonly<Record<string, number>>;
  /** Its slots are renewed while the body passes. */
  readonly decision?: { readonly hold?: Pick<Hold, "renew" | "renewEveryMs"> | undefined };
  /** Charges more units if every limit admits them. */
  extend(more: Readonly<Record<string, number>>): Promise<{ readonly allowed: boolean }>;
  /** Charges or gives back the difference to what was used, by the name of the policy. */
  settle(actual: Readonly<Record<string, number>>): Promise<void>;
  /** Gives everything back. */
  release(): Promise<void>;
}

/** How an answer is settled. */
export interface MeterOptions {
  /** What `estimateRequest` has said about the request. */
  readonly estimate: Estimate;
  /** The meters by the names of their policies. Other policies of the reservation keep what they reserved. */
  readonly meters: Readonly<Record<string, Pick<Meter, "unit"> & Partial<Pick<Meter, "prices" | "onExceeded">>>>;
  /** Lets the reservation be settled also when the client has left: the `ctx` of a Worker. */
  readonly background: { waitUntil(work: Promise<unknown>): void };
  /** Aborted when the client leaves: `request.signal`. Absent: known when the runtime cancels the body. */
  readonly signal?: AbortSignal;
  /** Called once, with what was settled. `undefined`: it was released, or keeps what was reserved. */
  readonly onSettled?: (usage: Usage | undefined) => void;
}

/**
 * Passes an answer on, and settles its reservation when its body has ended, has failed, or the client has left: by the
 * `usage` that the answer tells, otherwise by the text that was streamed. An answer other than 2xx releases the
 * reservation at once. An encoded answer, or one that is neither JSON nor an event stream, keeps what was reserved: ask
 * the provider with `Accept-Encoding: identity`.
 *
 * The body is not held back: each chunk goes on when it arrives. With `cutWith`, a meter with `onExceeded: "cut"`
 * pauses the stream while it charges more, and ends it with the format's error event when a limit refuses.
 *
 * @param cutWith `cutStreams`. Absent: every stream may end, and is charged then.
 * @returns the same answer, to be sent to the client instead of the given one.
 */
export function meterResponse(
  response: Response,
  reservation: MeteredReservation,
  options: MeterOptions,
  cutWith?: typeof createCut,
): Response {
  const { estimate, meters, background, signal, onSettled } = options;
  const { reserved } = reservation;
  if (!response.ok) {
    onSettled?.(undefined);
    background.waitUntil(reservation.release());
    return response;
  }
  if (!response.body) {
    onSettled?.(undefined);
    background.waitUntil(reservation.settle({}));
    return response;
  }

  const scanner = createAnswerScanner(response.headers, estimate);
  const metered = Object.keys(meters).filter((name) => reserved[name] !== undefined);
  const unitsOf = (name: string, usage: Usage) => usedUnits(meters[name]!, estimate.model, usage);
  const cutting = metered.filter((name) => meters[name]!.onExceeded === "cut");
  const cut =
    scanner && cutting.length > 0 ? cutWith?.(scanner, estimate.format, reservation, cutting, unitsOf) : undefined;
  const { body, ended } = passThrough(response.body, scanner, cut, signal, reservation.decision?.hold);
  background.waitUntil(
    ended.then(() => {
      const usage = scanner && (scanner.usage() ?? scanner.streamed());
      onSettled?.(usage);
      return reservation.settle(usage ? Object.fromEntries(metered.map((name) => [name, unitsOf(name, usage)])) : {});
    }),
  );
  return new Response(body, response);
}
