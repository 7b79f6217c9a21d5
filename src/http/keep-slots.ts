/** Keeps a request's slots for as long as it is in flight: until its answer's body has ended, failed or been cancelled. */

import type { Hold } from "../core/decision.ts";
import type { Background } from "../limiter.ts";

/**
 * Each renewal is a subrequest, of which one request has 10,000 on Cloudflare's paid plan and 50 on the free one (2026-11). With the
 * default timeout of 60 s, renewed every 30 s, this is 8 h 20 min.
 */
const MAX_RENEWALS = 1_000;

/**
 * Runs `answer` and releases the slots when its body is done. A WebSocket keeps them for its handshake only. The release is in
 * the background's hands before `answer` begins, so that a client that goes away does not take it with it.
 *
 * When a slot cannot be renewed any more the body ends with an error: a request that nobody counts must not go on.
 */
export async function keepSlots(
  hold: Hold,
  request: Request,
  background: Background | undefined,
  answer: () => Promise<Response>,
): Promise<Response> {
  let resolveEnded = () => {};
  const ended = new Promise<void>((resolve) => {
    resolveEnded = resolve;
  });
  const tooLong = new AbortController();
  let renewals = 0;
  let renewed: Promise<unknown> = Promise.resolve();
  const renewal = setInterval(() => {
    if (renewals++ === MAX_RENEWALS) cut();
    else renewed = Promise.all([renewed, hold.renew().then((mayRenew) => mayRenew || cut())]);
  }, hold.renewEveryMs);
  const end = () => {
    clearInterval(renewal);
    resolveEnded();
  };
  const cut = () => {
    tooLong.abort(new Error("in flight for longer than its slots can be renewed"));
    end();
  };
  // Not before the renewals are through: one that came after the release would take the slot again.
  const released = ended.then(() => renewed.finally(() => hold.release()));
  background?.waitUntil(released);
  request.signal.addEventListener("abort", end);

  try {
    const response = await answer();
    if (response.body === null) {
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

/** workerd's own pipes: bytes pass without JavaScript, and the announced length with them. Elsewhere they do not exist. */
const { FixedLengthStream: Fixed, IdentityTransformStream: Identity = TransformStream } = globalThis as {
  FixedLengthStream?: new (length: number) => TransformStream;
  IdentityTransformStream?: new () => TransformStream;
};

function passThrough(headers: Headers): TransformStream {
  const length = headers.get("Content-Length");
  // The length of a compressed body is not that of its bytes here, where the runtime unpacks it.
  const known = length !== null && /^\d+$/.test(length) && !headers.has("Content-Encoding");
  return known && Fixed ? new Fixed(Number(length)) : new Identity();
}
