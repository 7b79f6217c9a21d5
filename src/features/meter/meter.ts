/**
 * Requests under policies whose cost is known only after the answer (docs/llm.md): an estimate is reserved, and what
 * the answer says was used is settled.
 */

import type { Meter } from "../../kernel/core/policy.ts";
import { withoutNamedFields } from "../../kernel/http/origin.ts";
import type { Next } from "../../kernel/http/passage.ts";
import type { Reservation } from "../../kernel/limiter/reservation.ts";
import { createLines } from "../../kernel/lines.ts";
import type { Background } from "../../kernel/place/taker.ts";
import { MAX_BYTES, patientReader, type RequestBody, SlowBody } from "../../kernel/request/request-body.ts";
import type { RequestHead } from "../../kernel/request/request-head.ts";
import { ARE_COPIED, type Held, type Pipe, pipeOf } from "../slots/keep-slots.ts";
import { createCut } from "./llm/cut.ts";
import { type Estimate, estimateBody } from "./llm/estimate.ts";
import { formatOf } from "./llm/format.ts";
import { type AnswerScanner, createAnswerScanner } from "./llm/scanner.ts";
import { tokensOfBytes } from "./llm/tokens.ts";
import { answeredUnits, estimatedUnits, leastUnits, reservedUnits, settledUnits } from "./llm/units.ts";
import type { Usage } from "./llm/usage.ts";
import { pipeScanned } from "./pipe-scanned.ts";
import type { OnSettled } from "./settled.ts";

/** What a request costs, as far as its head tells: in any case, and if nobody could read its body. */
export function earlyUnits(request: RequestHead, meter: Meter): { readonly atLeast: number; readonly cost: number } {
  const length = Math.min(Number(request.headers.get("Content-Length") ?? MAX_BYTES), MAX_BYTES);
  const estimate = estimateBody(request, { length, isClear: false })(meter.perImage);
  return { atLeast: length > 0 ? leastUnits(meter, estimate) : 0, cost: reservedUnits(meter, estimate) };
}

/** Units by the name of the policy. A policy that is not named keeps what it has reserved. */
type Units = Readonly<Record<string, number>>;

/** A request whose body was read for an estimate. */
export type MeteredRequest = ReturnType<typeof meteredRequest>;
export type Settling = ReturnType<MeteredRequest["settling"]>;

/**
 * What is known of the body of a request. Only requests with a body have a cost under a meter. Others look at its
 * limits: they reach no model. The method does not matter: an origin may take another one as a POST.
 */
export interface EstimatedBody {
  /** The estimate by what an image counts as. Of a longer body that of its first 1 MiB. */
  readonly estimateBy: (perImage: number) => Estimate;
  /** Whether it is longer than 1 MiB, and nobody has read it. */
  readonly isLonger: boolean;
}

export function estimatedBody(request: RequestHead, read: RequestBody): EstimatedBody {
  const isLonger = read.length > MAX_BYTES;
  // What follows is charged while it passes.
  return { estimateBy: estimateBody(request, isLonger ? { ...read, length: MAX_BYTES } : read), isLonger };
}

/** @param listeners get what an answer has used when it is settled. Not called if everything is given back. */
export function meteredRequest(
  { estimateBy, isLonger }: EstimatedBody,
  background: Background | undefined,
  listeners: readonly OnSettled[],
) {
  /** Tokens of a long body that have passed beyond what was read of it. */
  let passed = 0;
  const estimateOf = ({ perImage }: Meter): Estimate => {
    const estimate = estimateBy(perImage);
    return passed > 0 ? { ...estimate, inputTokens: estimate.inputTokens + passed } : estimate;
  };
  /** The units to reserve under a policy with a meter. */
  const reservedOf = (meter: Meter) => reservedUnits(meter, estimateOf(meter));

  /**
   * Sends the request on, and settles. What is sent has the same body, and asks for an answer that can be read.
   *
   * @param request with a body that can be sent on.
   */
  function settling(reservation: Reservation, request: Request) {
    const { signal } = request;
    const { policies } = reservation.decision;
    const paying = policies.filter(({ policy, became }) => policy.meter && became === "charged");
    const names = paying.map(({ policy }) => policy.name);
    const meters = new Map(paying.map(({ policy }) => [policy.name, policy.meter!]));
    const unitsBy = (unitsOf: (meter: Meter, name: string) => number): Units =>
      Object.fromEntries(names.map((name) => [name, unitsOf(meters.get(name)!, name)]));
    const nothing = () => unitsBy(() => 0);
    /** What has passed and could not be charged, because a limit refused it. */
    let unpaid: Units = nothing();
    const whatIsReserved = () => unitsBy((_, name) => reservation.reserved[name]! + unpaid[name]!);
    let used: () => Units = nothing;
    /** The estimate and the scanner of an answer that can be read. */
    let known: readonly [estimate: Estimate, scanner: AnswerScanner] | undefined;
    let isWhole = false;
    let pipe: Pipe | undefined;

    /** Charges what passes of a long body, above the limit when it is settled. */
    async function charge(tokens: number): Promise<void> {
      const before = unitsBy(reservedOf);
      passed += tokens;
      const more = unitsBy((meter, name) => reservedOf(meter) - before[name]!);
      const { allowed } = await reservation.extend(more);
      if (!allowed) unpaid = unitsBy((_, name) => unpaid[name]! + more[name]!);
    }

    /** No model has answered. If the provider was stopped, the reservation stays: nobody knows what was used. */
    function giveBack(origin: AbortSignal): void {
      if (origin.aborted) return;
      used = nothing;
      // Slots are held until the error's body has ended, and go back in the same call.
      if (!reservation.decision.hold) reservation.settle(used());
    }

    /** Reads a short answer, or has another one read while it passes. */
    async function read(response: Response): Promise<Response> {
      const { body, headers } = response;
      if (!body || names.length === 0) return response;
      const estimate = estimateOf(meters.get(names[0]!)!);
      // An input that the answer does not name is each meter's own estimate.
      const scanner = createAnswerScanner(headers, { inputTokens: Number.NaN });
      if (!scanner) {
        logDoubt(names, "it is compressed, or neither JSON nor an event stream", headers);
        return response;
      }
      const unitsOf = (name: string, usage: Usage) => {
        const meter = meters.get(name)!;
        const inputTokens = Number.isNaN(usage.inputTokens) ? estimateOf(meter).inputTokens : usage.inputTokens;
        return answeredUnits(meter, scanner.model(), estimate, { ...usage, inputTokens });
      };
      // A client that left before the answer pays what was reserved: nothing was streamed to it.
      if (!signal.aborted) {
        used = () => ({
          ...whatIsReserved(),
          ...settledUnits(scanner, estimate, reservation.reserved, names, unitsOf),
        });
        known = [estimate, scanner];
      }
      if (isShort(headers) && !scanner.isStream) {
        try {
          const bytes = await response.arrayBuffer();
          scanner.push(new Uint8Array(bytes));
          scanner.end();
          isWhole = true;
          return new Response(bytes, response);
        } catch (error) {
          // The client sees that it breaks off.
          return new Response(new ReadableStream({ start: (controller) => controller.error(error) }), response);
        }
      }
      const cutting = names.filter((name) => meters.get(name)!.onExceeded === "cut");
      const cut = cutting.length > 0 ? createCut(scanner, estimate.format, reservation, cutting, unitsOf) : undefined;
      pipe = (body, writable, tooLong) => pipeScanned(body, writable, scanner, cut, AbortSignal.any([signal, tooLong]));
      if (!cut) return response;
      // A stream that is cut has another length.
      const passing = new Response(body, response);
      passing.headers.delete("Content-Length");
      return passing;
    }

    /** @param units to settle with. */
    function tell(units: Units): void {
      const { reserved } = reservation;
      if (names.length === 0) return;
      const settled = paying.map(({ policy: { name }, paidFor = name }) => {
        return { policy: name, paidFor, units: units[name] ?? reserved[name]! };
      });
      const [{ format, model, inputTokens, isBackground }, scanner] = known ?? [estimateOf(meters.get(names[0]!)!)];
      const stated = scanner?.usage();
      const usage = stated ?? scanner?.streamed();
      if (scanner && !signal.aborted) {
        if (scanner.hasZeros()) logDoubt(names, "it states zero tokens, which are not believed");
        else if (!stated && !scanner.isOutputKnown() && !isBackground) logDoubt(names, "it has no usage and no text");
      }
      const answer = {
        ...{ settled, format, model, answeredBy: scanner?.model(), isEstimated: !stated },
        ...(usage && { usage: Number.isNaN(usage.inputTokens) ? { ...usage, inputTokens } : usage }),
      };
      for (const listener of listeners) listener(answer, background);
    }

    return {
      /**
       * Lets `next` answer. The answer is read while it passes.
       *
       * @param origin ends the request to the provider. @throws {SlowBody}
       */
      async answer(next: Next, origin: AbortSignal): Promise<Response> {
        used = whatIsReserved;
        const upload =
          isLonger && canBePiped(request)
            ? uploading(request.body!, request.headers.get("Content-Length"), charge)
            : undefined;
        try {
          const response = await next(asking(request, origin, upload));
          if (upload?.slow()) {
            response.body?.cancel().catch(() => {});
            throw upload.slow();
          }
          if (response.ok) return await read(response);
          giveBack(origin);
          return response;
        } catch (error) {
          const slow = upload?.slow();
          if (slow) used = () => unitsBy((meter) => estimatedUnits(meter, estimateOf(meter), upload!.usage()));
          // A program may have given up because its client has left: its model may have worked.
          else if (!signal.aborted) giveBack(origin);
          throw slow ?? error;
        }
      },
      /** What to keep until the answer has ended. Its release settles, in the same call that gives slots back. */
      hold: {
        ...reservation.decision.hold,
        isWhole: () => isWhole,
        get pipe() {
          return pipe;
        },
        release: () => {
          const units = used();
          if (used !== nothing) tell(units);
          return reservation.settle(units);
        },
      } satisfies Held,
    };
  }

  return { unitsOf: reservedOf, settling };
}

/** Answers in JSON up to this many bytes are read at once, if they tell their length. */
const SHORT_ANSWER = 256 * 1024;

function isShort(headers: Headers): boolean {
  const length = headers.get("Content-Length");
  return length !== null && Number(length) <= SHORT_ANSWER;
}

/** Not if the program around the limiter has read the body: the program that answers has it already. */
function canBeSent({ bodyUsed, body }: Request): boolean {
  return !bodyUsed && !body?.locked;
}

/** Nobody can make a GET or HEAD with a body: one that came goes on as it is, and pays for its first 1 MiB. */
function canBePiped(request: Request): boolean {
  return canBeSent(request) && !/^(?:GET|HEAD)$/.test(request.method);
}

/** How much of a long body is read at once. */
const CHUNK_BYTES = 64 * 1024;

/**
 * A long body on its way to the provider.
 *
 * @param length `Content-Length`. Null: not known.
 * @param charge gets the tokens that have passed beyond what was reserved, for each further 1 MiB.
 */
function uploading(body: ReadableStream<Uint8Array>, length: string | null, charge: (tokens: number) => Promise<void>) {
  const reader = patientReader(body, ARE_COPIED ? new ArrayBuffer(CHUNK_BYTES) : undefined);
  const { readable, writable } = pipeOf(length) as TransformStream<Uint8Array, Uint8Array>;
  const writer = writable.getWriter();
  const ending = new AbortController();
  let slow: SlowBody | undefined;
  let bytes = 0;
  /** What is reserved is the first 1 MiB. */
  let charged = MAX_BYTES;
  async function chargeBeyond(atLeast: number): Promise<void> {
    if (bytes - charged < atLeast) return;
    const more = tokensOfBytes(bytes - charged);
    charged = bytes;
    await charge(more);
  }
  async function pass(): Promise<void> {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      bytes += read.value.length;
      await chargeBeyond(MAX_BYTES);
      await writer.write(read.value);
    }
    await chargeBeyond(1);
    await writer.close();
  }
  pass().catch((error) => {
    if (error instanceof SlowBody) slow = error;
    reader.cancel(error);
    writer.abort(error).catch(() => {});
    ending.abort(error);
  });
  return {
    body: readable,
    /** Aborted when the body does not go on. */
    signal: ending.signal,
    slow: () => slow,
    /** What a provider has got of a body that was given up. */
    usage: () => ({ inputTokens: tokensOfBytes(bytes), cachedInputTokens: 0, outputTokens: 0 }),
  };
}

/**
 * The same request, but asking for an answer in a form that can be read: without compression, and whole.
 *
 * @param signal of the request that goes on. @param upload its body, if that is a long one.
 */
function asking(request: Request, signal: AbortSignal, upload: ReturnType<typeof uploading> | undefined): Request {
  if (!upload && !canBeSent(request)) return request;
  const url = formatOf(request) ? withoutForm(request.url) : request.url;
  let asked: Request;
  if (upload) {
    const { method, redirect, cf } = request;
    const { body } = upload;
    const { headers } = withoutNamedFields(new Request(url, { headers: request.headers }));
    const ended = AbortSignal.any([signal, upload.signal]);
    asked = new Request(url, {
      method,
      headers,
      body,
      redirect,
      signal: ended,
      duplex: "half",
      ...(cf && { cf }),
    } as RequestInit);
  } else {
    const own = withoutNamedFields(request);
    asked = new Request(url === request.url ? own : new Request(url, own), { signal });
  }
  asked.headers.set("Accept-Encoding", "identity");
  if (formatOf(request)) for (const name of FORM_FIELDS) asked.headers.delete(name);
  return asked;
}

/** Fields by which a client chooses what of an answer it gets. */
const FORM_FIELDS = ["X-Goog-FieldMask", "Range"];

/**
 * Parameters of Google's servers that do the same, or give the answer another form (cloud.google.com/apis/docs/
 * system-parameters). Each is known with a `$` in front, too. Of `alt` the two forms that can be read stay.
 */
const FORM_PARAMETER = /^(?:\$|(?:fields|callback|alt)$)/;
const READABLE = /^(?:sse|json)$/;

function withoutForm(url: string): string {
  const [, path = url, query, hash = ""] = /^([^?#]*)\?([^#]*)(#.*)?$/.exec(url) ?? [];
  if (query === undefined) return url;
  const kept = query.split("&").filter((pair) => {
    const [[name, value] = ["", ""]] = new URLSearchParams(pair);
    return !FORM_PARAMETER.test(name) || (name === "alt" && READABLE.test(value));
  });
  return `${path}${kept.length > 0 ? `?${kept.join("&")}` : ""}${hash}`;
}

/** The most characters of a header field in a line: an origin has written it. */
const LONGEST_VALUE = 100;

const write = createLines();

/** One JSON line for each answer whose usage is not known, and why. @param headers of one that cannot be read. */
function logDoubt(policies: readonly string[], reason: string, headers?: Headers): void {
  const shown = (name: string) => headers?.get(name)?.slice(0, LONGEST_VALUE);
  write(() => ({
    event: "answer-not-metered",
    at: new Date().toISOString(),
    policies,
    reason,
    contentType: shown("Content-Type"),
    contentEncoding: shown("Content-Encoding"),
  }));
}
