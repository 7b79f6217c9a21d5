/**
 * Lets the request to the provider go on when the client has left, until its status is known: a client that leaves
 * before a 401 must not keep a reservation that others pay for.
 */

/** Cloudflare ends the work of a request 30 s after its client has left (2026-11). The call that settles needs time. */
const WAIT_MS = 20_000;

export interface Lingering {
  /** Aborted when the client has left and the status is known, or was waited for long enough. */
  readonly signal: AbortSignal;
  /** Fulfilled when the status is known, or is not waited for any more. */
  readonly answered: Promise<void>;
  /** Asks the provider. */
  until<T>(ask: () => Promise<T>): Promise<T>;
}

/** @param client aborted when the client leaves. */
export function linger(client: AbortSignal): Lingering {
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
    signal: provider.signal,
    answered,
    async until(ask) {
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
