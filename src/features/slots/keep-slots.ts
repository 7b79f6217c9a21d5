/**
 * Keeps the slots of a request in flight, or its reservation: until the body of the answer has ended, failed or been
 * cancelled.
 */

import type { Sockets } from "../../kernel/core/concurrency.ts";
import type { Hold } from "../../kernel/core/decision.ts";
import { linger } from "../../kernel/http/linger.ts";
import { isStatus } from "../../kernel/http/passage.ts";
import { type Background, keepAlive } from "../../kernel/place/taker.ts";
import { inBackground } from "../../kernel/sleep.ts";
import { relay, socketOf } from "./relay.ts";

/**
 * Each renewal is a subrequest. Cloudflare allows 10,000 subrequests a request on the paid plan, 50 on the free plan
 * (2026-11). The default timeout of 60 s means a renewal every 30 s: 1,000 renewals last 8 h 20 min.
 */
const MAX_RENEWALS = 1_000;

/** What a request holds. Without slots there is nothing to renew. */
export interface Held {
  readonly renew?: Hold["renew"] | undefined;
  readonly renewEveryMs?: number | undefined;
  release(): Promise<unknown>;
  /** Whether the answer has been read to its end: its slots need not wait for the client. */
  readonly isWhole?: boolean;
  /** Sends the body on until its end, or until the signal is aborted. Absent: it goes on as it is. */
  readonly pipe?: Pipe | undefined;
  /** How long a WebSocket holds it. Absent: as is usual where it is held. */
  readonly sockets?: Sockets | undefined;
  /** All of it is of policies in shadow: a request goes on without it. */
  readonly isShadow?: boolean | undefined;
  /** The same in parts, if a WebSocket does not hold all of it equally long. */
  readonly parts?: readonly Held[] | undefined;
}

export type Pipe = (
  body: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
  signal: AbortSignal,
) => Promise<void>;

/**
 * Runs `answer` and releases the slots when the body is done, or when the WebSocket has closed if they are held as long
 * as it is open. The background waits for the release before `answer` begins: slots are released also when the client
 * goes away.
 *
 * When the slots cannot be renewed any more, the body ends with an error: a request without a slot must not go on.
 *
 * @param answer gets a signal for the request to the origin: it is aborted when the client has left and the origin has
 * answered. An origin works on although its client has left, and a slot is for its work.
 */
export async function keepSlots(
  hold: Held,
  request: Request,
  background: Background | undefined,
  answer: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const tooLong = new AbortController();
  const lingering = linger(request.signal);
  const end = keepParts(hold, background, (error) => tooLong.abort(error));
  request.signal.addEventListener("abort", async () => {
    await lingering.answered;
    end();
  });

  try {
    const response = await lingering.until(() => answer(lingering.signal));
    const socket = socketOf(response);
    if (socket && partsOf(hold).some(isForOpen)) {
      end((part) => !isForOpen(part));
      return relay(response, socket, tooLong.signal, () => end());
    }
    // A body that somebody else reads cannot go on: whoever gets the answer sees that.
    if (response.body === null || response.body.locked || !isStatus(response) || hold.isWhole) {
      end();
      return response;
    }
    const { body, headers } = response;
    // The runtime decompresses a compressed body: it has more bytes here than Content-Length says.
    const { readable, writable } = pipeOf(headers.has("Content-Encoding") ? null : headers.get("Content-Length"));
    const { signal } = tooLong;
    (hold.pipe?.(body, writable, signal) ?? body.pipeTo(writable, { signal })).then(
      () => end(),
      () => end(),
    );
    return new Response(readable, response);
  } catch (error) {
    end();
    throw error;
  }
}

/** In front of fetch handlers. */
function isForOpen({ sockets }: Held): boolean {
  return sockets === "open";
}

/** How long a WebSocket holds it, if it must be released at once. */
export function longestOf(hold: Held | undefined): Sockets | undefined {
  return hold && partsOf(hold).some(isForOpen) ? "open" : undefined;
}

function partsOf(hold: Held): readonly Held[] {
  return hold.parts ?? [hold];
}

/**
 * Keeps each part by itself, as `keepHeld` does.
 *
 * @returns releases those parts for which `isOver`; absent: all.
 */
export function keepParts(
  hold: Held,
  background: Background | undefined,
  cut: (error: Error) => void,
): (isOver?: (part: Held) => boolean) => void {
  const ends = partsOf(hold).map((part) => {
    return { part, end: keepHeld(part, background, part.isShadow ? () => {} : cut) };
  });
  return (isOver = () => true) => {
    for (const { part, end } of ends) if (isOver(part)) end();
  };
}

/**
 * Renews the slots until they are released.
 *
 * @param cut ends the request when its slots cannot be renewed any more.
 * @returns releases them; to be called when the request has ended, once or more.
 */
export function keepHeld(hold: Held, background: Background | undefined, cut: (error: Error) => void): () => void {
  let resolveEnded = () => {};
  const ended = new Promise<void>((resolve) => {
    resolveEnded = resolve;
  });
  let renewals = 0;
  let renewed: Promise<unknown> = Promise.resolve();
  const { renew } = hold;
  const renewal =
    renew &&
    inBackground(
      setInterval(() => {
        if (renewals++ === MAX_RENEWALS) stop();
        else renewed = Promise.all([renewed, renew().then((mayRenew) => mayRenew || stop())]);
      }, hold.renewEveryMs),
    );
  const end = () => {
    if (renewal !== undefined) clearInterval(renewal);
    resolveEnded();
  };
  const stop = () => {
    cut(new Error("in flight for longer than its slots can be renewed"));
    end();
  };
  // The release waits for the renewals: a renewal after the release would take the slot again.
  const released = ended.then(() => renewed.finally(() => hold.release()));
  keepAlive(released, background);
  return end;
}

/** Pipes of workerd: bytes pass without JavaScript, and `Content-Length` stays. Other runtimes do not have them. */
const { FixedLengthStream: Fixed, IdentityTransformStream: Identity = TransformStream } = globalThis as {
  FixedLengthStream?: new (length: number) => TransformStream;
  IdentityTransformStream?: new () => TransformStream;
};

/** Whether bytes are copied when they are written: those of other runtimes pass as they are. */
export const ARE_COPIED = Fixed !== undefined;

/** @param length `Content-Length`. Null: not known. */
export function pipeOf(length: string | null): TransformStream {
  return length !== null && /^\d+$/.test(length) && Fixed ? new Fixed(Number(length)) : new Identity();
}
