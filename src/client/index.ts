/**
 * A `fetch` for callers of a limited API. It waits as long as the server says, spreads the retries of many clients over
 * time, and only sends again what is safe to send again. No dependencies, and no side effects when imported.
 */

import { sleep as timerSleep } from "../sleep.ts";
import { isIdempotent, isReplayable, saysNever, waitAfter } from "./again.ts";
import { retryAfterMs, rulesOf } from "./fields.ts";
import { type Call, createPace, type Pace } from "./pace.ts";

/** The signature of `fetch`. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** How long a call waits, how often it is sent, and the parts that tests replace. */
export interface BackoffOptions {
  /**
   * How long after the start of the call the last request may be sent, in milliseconds, 0 or more; `Infinity`: no end.
   * If the wait would be longer, the call returns the server's last answer at once. The budget bounds the waits and not
   * the time of a request; an `AbortSignal` bounds both. Default 60,000.
   */
  readonly timeBudgetMs?: number;
  /** How many times a request is sent again at most, 0 or more. Default 10. */
  readonly maxRetries?: number;
  /** Sends one request. Default: the platform's `fetch` at the time of the call. */
  readonly fetch?: Fetch;
  /** The clock, in milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number;
  /** A random number, 0 ≤ x < 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Waits `durationMs` milliseconds; rejects with the signal's reason when the signal is aborted. Default: a timer. */
  readonly sleep?: (durationMs: number, signal?: AbortSignal | null) => Promise<void>;
}

/** `fetch` that waits and sends again after a refusal. The `options` of a call override the options of its client. */
export type BackoffFetch = (
  input: string | URL | Request,
  init?: RequestInit,
  options?: BackoffOptions,
) => Promise<Response>;

const DEFAULT_TIME_BUDGET_MS = 60_000;
const DEFAULT_MAX_RETRIES = 10;

/** A failed connection is not a limit that ends with time: after 2 more attempts the caller gets the error. */
const MAX_FAILURES = 2;

/** How long the beginning of a refusal's body is waited for, ms. The wait for the next attempt runs meanwhile. */
const BODY_PATIENCE_MS = 1000;

/**
 * Makes a client that remembers the limits that answers state, at most 100 of them. It is refused less often: with no
 * units left it waits until more come, and when others use the limit too, it spreads the last units. Its calls line up:
 * as many are sent at once as units are known to be left. Make one client for each credential: limits are remembered by
 * origin and name, and two accounts have separate limits. `createBackoff` may be called at module scope of a Worker.
 */
export function createBackoff(defaults: BackoffOptions = {}): BackoffFetch {
  const pace = createPace();
  return (input, init, options) => send(pace, input, init, { ...defaults, ...options });
}

/**
 * `fetch` that waits and sends again. After 429: every request whose body can be sent again. After 503 with
 * `Retry-After`, and after a failed connection: idempotent methods only. Calls that run at the same time with the same
 * `fetch` and headers line up. After the last of these calls only one thing is remembered: how many calls each limit
 * has admitted, from which the next call knows whether it is alone. For many requests to one API make a client with
 * {@link createBackoff}.
 *
 * @returns the answer. The answer is a refusal if it says "never", if the wait would exceed the time budget, if no
 * retries are left, or if the request cannot be sent again.
 * @throws what `fetch` throws; the signal's reason if the signal is aborted.
 */
export const fetchWithBackoff: BackoffFetch = async (input, init, options = {}) => {
  const { fetch = globalThis.fetch } = options;
  const pace = together.get(fetch) ?? createPace(true);
  together.set(fetch, pace);
  const headers = new Headers(init?.headers ?? (input as Partial<Request>).headers);
  return await send(pace, input, init, options, JSON.stringify([...headers]));
};

/** What calls of `fetchWithBackoff` share. Calls with other headers may be another account's. */
const together = new WeakMap<Fetch, Pace>();

async function send(
  pace: Pace,
  input: string | URL | Request,
  init: RequestInit | undefined,
  {
    timeBudgetMs = DEFAULT_TIME_BUDGET_MS,
    maxRetries = DEFAULT_MAX_RETRIES,
    fetch = globalThis.fetch,
    now = Date.now,
    random = Math.random,
    sleep = timerSleep,
  }: BackoffOptions,
  who = "",
): Promise<Response> {
  const request = typeof input === "object" && "method" in input ? input : undefined;
  const method = init?.method ?? request?.method ?? "GET";
  const signal = init?.signal === undefined ? request?.signal : init.signal;
  const endsAt = now() + timeBudgetMs;
  const call: Call = { ...routeOf(method, request?.url ?? String(input), who), endsAt, notBefore: now() };
  let failures = 0;

  /** Waits until the call may be sent. */
  const line = async () => {
    for (let waitMs = 1; waitMs > 0; ) {
      signal?.throwIfAborted();
      waitMs = pace.waitMs(call, now());
      if (waitMs > 0) await sleep(waitMs, signal);
    }
  };

  try {
    await line();
    const firstSentAt = now();
    for (let retries = 0; ; retries++) {
      let response: Response | undefined;
      let error: unknown;
      try {
        response = await fetch(input, init);
      } catch (thrown) {
        signal?.throwIfAborted();
        if (++failures > MAX_FAILURES) throw thrown;
        error = thrown;
      }
      const answeredAt = now();
      const headers = response?.headers ?? new Headers();
      const stated = { retryAfterMs: retryAfterMs(headers, answeredAt), rules: rulesOf(headers, answeredAt) };
      const refused = response?.status === 429;
      const isAnswer = response && !refused && !(response.status === 503 && stated.retryAfterMs !== undefined);
      const { leastMs, spreadMs, rules } = waitAfter({ ...stated, retries, elapsedMs: answeredAt - firstSentAt });
      const leftMs = endsAt - answeredAt;
      const mayRepeat =
        retries < maxRetries &&
        (refused || isIdempotent(method)) &&
        isReplayable(request, init?.body) &&
        leastMs <= leftMs;
      // The request costs more than the limit: its answer says nothing about what is left.
      if (refused && stated.retryAfterMs === undefined) {
        const patienceMs = mayRepeat ? Math.min(leftMs, BODY_PATIENCE_MS) : 0;
        if (await saysNever(response!, patienceMs, sleep)) return response!;
      }
      if (refused) pace.answered(call, rules, answeredAt, random(), spreadMs);
      else if (response) pace.answered(call, stated.rules, answeredAt, random());
      else pace.leave(call);

      if (isAnswer || !mayRepeat) {
        if (response) return response;
        throw error;
      }
      // Free the connection. A failure here changes nothing.
      response?.body?.cancel().catch(() => {});
      // After a refusal the pace spreads all calls that wait for the limit: do not spread this call twice.
      call.notBefore = answeredAt + leastMs + (refused ? 0 : random() * Math.min(spreadMs, leftMs - leastMs));
      await line();
    }
  } finally {
    pace.leave(call);
  }
}

/**
 * Relative URLs are resolved against the page, and without a page against `http://localhost` (tests).
 *
 * @throws {TypeError} if `url` is not a URL.
 */
function routeOf(method: string, url: string, who: string): Pick<Call, "site" | "origin" | "path"> {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const { origin, pathname } = new URL(url, page?.startsWith("http") ? page : "http://localhost");
  return { site: origin, origin: origin + who, path: `${method.toUpperCase()} ${pathname} ${origin + who}` };
}
