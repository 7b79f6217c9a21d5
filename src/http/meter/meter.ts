/**
 * Requests under policies whose cost is known only after the answer (docs/llm.md): an estimate is reserved, and what
 * the answer says was used is settled.
 */

import type { Meter } from "../../core/policy.ts";
import type { Background, Reservation } from "../../limiter.ts";
import { createLines } from "../../lines.ts";
import { createCut } from "../../llm/cut.ts";
import { type Estimate, estimateBody } from "../../llm/estimate.ts";
import { passThrough } from "../../llm/pass-through.ts";
import { type AnswerScanner, createAnswerScanner } from "../../llm/scanner.ts";
import { answeredUnits, leastUnits, reservedUnits, settledUnits } from "../../llm/units.ts";
import type { Usage } from "../../llm/usage.ts";
import { MAX_BYTES } from "../../request-body.ts";
import type { RequestHead } from "../../keys/request-head.ts";
import type { Held } from "../keep-slots.ts";
import type { Matched } from "../match.ts";
import type { Asked } from "../links.ts";
import { withoutNamedFields } from "../origin.ts";
import type { OnSettled } from "./log-tokens.ts";

/**
 * Only requests with a body have a cost under a meter. Others look at its limits: they reach no model. The method does
 * not matter: an origin may take another one, or an override of it, as a POST.
 */
export function isMetered({ body }: Request): boolean {
  return body !== null;
}

/** What a request costs, as far as its head tells: in any case, and if nobody could read its body. */
export function earlyUnits(
  request: RequestHead,
  { policy: { meter }, cost, atLeast = 0, byCalls }: Matched,
): { readonly atLeast: number; readonly cost: number } {
  if (byCalls) return { atLeast: meter ? 0 : atLeast, cost };
  if (!meter) return { atLeast: cost, cost };
  const length = Math.min(Number(request.headers.get("Content-Length") ?? MAX_BYTES), MAX_BYTES);
  const estimate = estimateBody(request, { length, isClear: false })(meter.perImage);
  return { atLeast: length > 0 ? leastUnits(meter, estimate) : 0, cost: reservedUnits(meter, estimate) };
}

type Next = (request: Request) => Response | Promise<Response>;

/** Units by the name of the policy. A policy that is not named keeps what it has reserved. */
type Units = Readonly<Record<string, number>>;

/** A request whose body was read for an estimate. */
export type MeteredRequest = ReturnType<typeof meteredRequest>;
export type Settling = ReturnType<MeteredRequest["settling"]>;

/**
 * @param asked the policies of the request. @param request with a body that can be sent on.
 * @param estimateBy the estimate of its body by what an image counts as.
 * @param listeners get what an answer has used when it is settled. Not called if everything is given back.
 */
export function meteredRequest(
  asked: readonly Asked[],
  request: Request,
  { estimateBy, isLonger }: { readonly estimateBy: (perImage: number) => Estimate; readonly isLonger: boolean },
  background: Background | undefined,
  listeners: readonly OnSettled[],
) {
  /** By the names of their policies. */
  const meters = new Map(asked.flatMap(({ policy: { name, meter } }) => (meter ? [[name, meter]] : [])));
  const heads = headsOf(asked);
  const { signal } = request;
  const estimateOf = ({ perImage }: Meter) => estimateBy(perImage);

  /** Sends the request on, and settles. The request has the same body, and asks for an answer that can be read. */
  function settling(reservation: Reservation) {
    const lingering = linger(signal);
    const plain = askingForPlain(request, lingering.signal);
    // A policy that does not pay has reserved nothing, and an overflow may not even have been asked.
    const names = [...meters.keys()].filter((name) => reservation.reserved[name] !== undefined);
    const nothing = () => Object.fromEntries(names.map((name) => [name, 0]));
    const whatIsReserved = () => ({});
    let used: () => Units = nothing;
    /** The estimate and the scanner of an answer that can be read. */
    let known: readonly [estimate: Estimate, scanner: AnswerScanner] | undefined;

    /** No model has answered. If the provider was stopped, the reservation stays: nobody knows what was used. */
    function giveBack(): void {
      if (lingering.signal.aborted) return;
      used = nothing;
      // Slots are held until the error's body has ended, and go back in the same call.
      if (!reservation.decision.hold) reservation.settle(used());
    }

    /** Reads an answer while it passes. */
    function read(response: Response): Response {
      const { body, headers } = response;
      if (!body || names.length === 0) return response;
      const estimate = estimateOf(meters.get(names[0]!)!);
      // An input that the answer does not name is each meter's own estimate.
      const scanner = createAnswerScanner(headers, { inputTokens: Number.NaN });
      if (!scanner) {
        logUnread(names, headers);
        return response;
      }
      const unitsOf = (name: string, usage: Usage) => {
        const meter = meters.get(name)!;
        const inputTokens = Number.isNaN(usage.inputTokens) ? estimateOf(meter).inputTokens : usage.inputTokens;
        return answeredUnits(meter, scanner.model(), estimate, { ...usage, inputTokens });
      };
      // A client that left before the answer pays what was reserved: nothing was streamed to it.
      if (!signal.aborted) {
        used = () => settledUnits(scanner, estimate, reservation.reserved, names, unitsOf);
        known = [estimate, scanner];
      }
      const cutting = names.filter((name) => meters.get(name)!.onExceeded === "cut");
      const cut = cutting.length > 0 ? createCut(scanner, estimate.format, reservation, cutting, unitsOf) : undefined;
      const passed = new Response(passThrough(body, scanner, cut, signal, undefined).body, response);
      // A stream that is cut has another length.
      if (cut) passed.headers.delete("Content-Length");
      return passed;
    }

    /** @param units to settle with. */
    function tell(units: Units): void {
      const { reserved } = reservation;
      if (names.length === 0) return;
      const settled = names.map((policy) => ({
        policy,
        paidFor: heads.get(policy)!,
        units: units[policy] ?? reserved[policy]!,
      }));
      const [{ format, model, inputTokens }, scanner] = known ?? [estimateOf(meters.get(names[0]!)!), undefined];
      const stated = scanner?.usage();
      const usage = stated ?? scanner?.streamed();
      const answer = {
        ...{ settled, format, model, answeredBy: scanner?.model(), isEstimated: !stated },
        ...(usage && { usage: Number.isNaN(usage.inputTokens) ? { ...usage, inputTokens } : usage }),
      };
      for (const listener of listeners) listener(answer, background);
    }

    return {
      /** Lets `next` answer. The answer is read while it passes. */
      async answer(next: Next): Promise<Response> {
        used = whatIsReserved;
        return await lingering.until(async () => {
          try {
            const response = await next(plain);
            if (response.ok) return read(response);
            giveBack();
            return response;
          } catch (error) {
            // A program may have given up because its client has left: its model may have worked.
            if (!signal.aborted) giveBack();
            throw error;
          }
        });
      },
      /** What to keep until the answer has ended. Its release settles, in the same call that gives slots back. */
      hold: {
        ...reservation.decision.hold,
        answered: lingering.answered,
        release: () => {
          const units = used();
          if (used !== nothing) tell(units);
          return reservation.settle(units);
        },
      } satisfies Held,
    };
  }

  /** The units to reserve under a policy with a meter. */
  const unitsOf = (meter: Meter) => reservedUnits(meter, estimateOf(meter));
  return { unitsOf, settling };
}

/** By the name of a policy, the policy that the request matched: the same, or the head of its chain. */
function headsOf(asked: readonly Asked[]): ReadonlyMap<string, string> {
  let head = "";
  return new Map(
    asked.map(({ policy: { name }, link }) => {
      if (!link) head = name;
      return [name, head];
    }),
  );
}

/** Cloudflare ends the work of a request 30 s after its client has left (2026-11). The call that settles needs time. */
const WAIT_MS = 20_000;

/**
 * Lets the request to the provider go on when the client has left, until its status is known: a client that leaves
 * before a 401 must not keep a reservation that others pay for.
 *
 * @param client aborted when the client leaves.
 */
function linger(client: AbortSignal) {
  const provider = new AbortController();
  let resolveAnswered = () => {};
  const answered = new Promise<void>((resolve) => {
    resolveAnswered = resolve;
  });
  let isAnswered = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    provider.abort(client.reason);
    resolveAnswered();
  };
  const leave = () => {
    if (isAnswered) stop();
    else timer = setTimeout(stop, WAIT_MS);
  };

  return {
    /** Aborted when the client has left and the status is known, or was waited for long enough. */
    signal: provider.signal,
    /** Fulfilled when the status is known, or is not waited for any more. */
    answered,
    /** Asks the provider. */
    async until<T>(ask: () => Promise<T>): Promise<T> {
      client.addEventListener("abort", leave);
      try {
        return await ask();
      } finally {
        isAnswered = true;
        if (timer !== undefined) clearTimeout(timer);
        resolveAnswered();
        if (client.aborted) stop();
      }
    },
  };
}

/** The same request, but asking for an answer without compression: a compressed answer could not be read. */
function askingForPlain(request: Request, signal: AbortSignal): Request {
  // The program around the limiter has read the body. The program that answers has the body already.
  if (request.bodyUsed || request.body?.locked) return request;
  const asking = new Request(withoutNamedFields(request), { signal });
  asking.headers.set("Accept-Encoding", "identity");
  return asking;
}

/** The most characters of a header field in a line: an origin has written it. */
const LONGEST_VALUE = 100;

const write = createLines();

/** One JSON line for each answer that cannot be read: its reservation stays charged. */
function logUnread(policies: readonly string[], headers: Headers): void {
  const shown = (name: string) => headers.get(name)?.slice(0, LONGEST_VALUE);
  write(() => ({
    event: "answer-not-metered",
    at: new Date().toISOString(),
    policies,
    contentType: shown("Content-Type"),
    contentEncoding: shown("Content-Encoding"),
  }));
}
