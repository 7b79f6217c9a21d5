/**
 * Keeps the slots of a request in flight, or its reservation: until the body of the answer has ended, failed or been
 * cancelled.
 */

import type { Hold } from "../core/decision.ts";
import type { Background } from "../limiter.ts";
import { isStatus } from "./ending.ts";

/**
 * Each renewal is a subrequest. Cloudflare allows 10,000 subrequests a request on the paid plan, 50 on the free plan
 * (2026-11). The default timeout of 60 s means a renewal every 30 s: 1,000 renewals last 8 h 20 min.
 */
const MAX_RENEWALS = 1_000;

/** What a request holds. Without slots there is nothing to renew. */
export type Held = Pick<Hold, "release"> &
  Partial<Hold> & {
    /** Fulfilled when it is known what the request costs. If the client leaves, the release waits for it. */
    readonly answered?: Promise<void>;
  };

/**
 * Runs `answer` and releases the slots when the body is done. A WebSocket keeps the slots for its handshake only. The
 * background waits for the release before `answer` begins: slots are released also when the client goes away.
 *
 * When the slots cannot be renewed any more, the body ends with an error: a request without a slot must not go on.
 */
export async function keepSlots(
  hold: Held,
  request: Request,
  background: Background | undefined,
  answer: () => Promise<Response>,
): Promise<Response> {
  const tooLong = new AbortController();
  const end = keepHeld(hold, background, (error) => tooLong.abort(error));
  request.signal.addEventListener("abort", async () => {
    await hold.answered;
    end();
  });

  try {
    const response = await answer();
    if (response.body === null || !isStatus(response)) {
      end();
      return response;
    }
    const { readable, writable } = passThrough(response.headers);
    response.body.pipeTo(writable, { signal: tooLong.signal }).then(end, end);
    return new Response(readable, response);
  } catch (error) {
    end();
    throw error;
  }
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
    setInterval(() => {
      if (renewals++ === MAX_RENEWALS) stop();
      else renewed = Promise.all([renewed, renew().then((mayRenew) => mayRenew || stop())]);
    }, hold.renewEveryMs);
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
  background?.waitUntil(released);
  return end;
}

/** Pipes of workerd: bytes pass without JavaScript, and `Content-Length` stays. Other runtimes do not have them. */
const { FixedLengthStream: Fixed, IdentityTransformStream: Identity = TransformStream } = globalThis as {
  FixedLengthStream?: new (length: number) => TransformStream;
  IdentityTransformStream?: new () => TransformStream;
};

function passThrough(headers: Headers): TransformStream {
  const length = headers.get("Content-Length");
  // The runtime decompresses a compressed body: it has more bytes here than Content-Length says.
  const known = length !== null && /^\d+$/.test(length) && !headers.has("Content-Encoding");
  return known && Fixed ? new Fixed(Number(length)) : new Identity();
}
