/**
 * `headgate/llm`: settles a reservation when the answer of a language model has passed. In the gateway and the
 * middlewares ../metered-request.ts does that.
 */

import type { Hold } from "../../../kernel/core/decision.ts";
import type { Meter } from "../../../kernel/core/policy.ts";
import { keepHeld, pipeOf } from "../../slots/keep-slots.ts";
import { pipeScanned } from "../pipe-scanned.ts";
import type { Estimate } from "./estimate.ts";
import { createAnswerScanner } from "./scanner.ts";
import { answeredUnits, type Prices, settledUnits } from "./units.ts";

/** The part of a reservation that `meterResponse` needs. A reservation of `limiter.reserve` has it. */
export interface MeteredReservation {
  /** Units counted, by the name of the policy. */
  readonly reserved: Readonly<Record<string, number>>;
  /** Its slots are renewed while the body passes. */
  readonly decision?: { readonly hold?: Pick<Hold, "renew" | "renewEveryMs"> | undefined };
  /** Counts or gives back the difference to what was used, by the name of the policy. */
  settle(actual: Readonly<Record<string, number>>): Promise<void>;
  /** Gives everything back. */
  release(): Promise<void>;
}

/** How an answer is settled. */
export interface MeterOptions {
  /** What `estimateRequest` has said about the request. */
  readonly estimate: Estimate;
  /** The meters by the names of their policies. Other policies of the reservation keep what they reserved. */
  readonly meters: Readonly<Record<string, Pick<Meter, "unit" | "prices">>>;
  /** Lets the reservation be settled also when the client has left: the `ctx` of a Worker. */
  readonly background: { waitUntil(work: Promise<unknown>): void };
  /** Aborted when the client leaves: `request.signal`. Absent: known when the runtime cancels the body. */
  readonly signal?: AbortSignal;
}

/**
 * Passes an answer on, and settles its reservation when its body has ended, has failed, or the client has left: by the
 * `usage` that the answer reports, otherwise by the text that was streamed. An answer other than 2xx releases the
 * reservation at once. Any other answer keeps at least what was reserved if it does not report its output, or is JSON
 * that its client left before the end. It keeps what was reserved if its client left before it, if it is encoded (ask
 * the provider with `Accept-Encoding: identity`), and if it is neither JSON nor an event stream.
 *
 * The body is not held back: each chunk goes on when it arrives. Every stream may end, and is counted then:
 * `onExceeded: "cut"` is for the gateway, `withRateLimit` and the Hono middleware.
 *
 * @returns the same answer, to be sent to the client instead of the given one.
 * @throws {TypeError} if the body of the answer has been read, or is read elsewhere. Nothing is settled then.
 */
export function meterResponse(response: Response, reservation: MeteredReservation, options: MeterOptions): Response {
  const { estimate, meters, background, signal } = options;
  const { reserved } = reservation;
  const { ok, body, headers } = response;
  if (!ok || !body) {
    background.waitUntil(ok ? reservation.settle({}) : reservation.release());
    return response;
  }
  if (body.locked) {
    throw new TypeError(
      "meterResponse: response: expected a body that nobody reads, found one that is read elsewhere or has been read",
    );
  }
  const scanner = createAnswerScanner(headers, estimate);
  const paying = Object.entries(meters).filter(([name]) => reserved[name] !== undefined);
  const prices: Prices = new Map(
    paying.map(([name, meter]) => [name, (usage) => answeredUnits(meter, scanner?.model(), estimate, usage)]),
  );
  const release = () => reservation.settle(settledUnits(scanner, estimate, reserved, prices));

  const lost = new AbortController();
  const end = keepHeld({ ...reservation.decision?.hold, release }, background, (error) => lost.abort(error));
  // The program may have changed the body, and left its length.
  const { readable, writable } = pipeOf(null);
  const ended = signal ? AbortSignal.any([signal, lost.signal]) : lost.signal;
  pipeScanned(body, writable, scanner, undefined, ended).then(end);
  return new Response(readable, response);
}
