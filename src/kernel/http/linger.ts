/** For how long an origin may answer a client that has left. */

import { setIdleTimeout } from "../sleep.ts";

/** Cloudflare ends the work of a request 30 s after its client has left (2026-11). The call that settles needs time. */
export const LINGER_MS = 20_000;

/**
 * Lets the request to the origin go on when the client has left, until its status is known: a client that leaves before
 * a 401 must not keep a reservation that others pay for.
 *
 * @param client aborted when the client leaves.
 */
export function linger(client: AbortSignal) {
  const origin = new AbortController();
  let resolveAnswered = () => {};
  const answered = new Promise<void>((resolve) => {
    resolveAnswered = resolve;
  });
  let isAnswered = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    origin.abort(client.reason);
    resolveAnswered();
  };
  const leave = () => {
    if (isAnswered) stop();
    else timer = setIdleTimeout(stop, LINGER_MS);
  };

  return {
    /** Aborted when the client has left and the status is known, or was waited for long enough. */
    signal: origin.signal,
    /** Fulfilled when the status is known, or is not waited for any more. */
    answered,
    /** Asks the origin. */
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
