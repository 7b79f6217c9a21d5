/**
 * A fetch for callers of a limited API: waits as long as it is told, not all at the same instant, and only for what is
 * safe to send again. Imports nothing, and nothing happens when it is imported.
 */

import { isIdempotent, isReplayable, saysNever } from "./again.ts";
import { retryAfterMs, rulesOf } from "./fields.ts";
import { type Call, createMemory, type Memory } from "./pace.ts";
import { sleep as timerSleep } from "./sleep.ts";
import { waitAfter } from "./waits.ts";

/** What `fetch` takes and gives. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What a call waits for, and how. */
export interface BackoffOptions {
  /**
   * How long after the call began the last request may be sent, in milliseconds, 0 or more; `Infinity`: at any time.
   * A longer wait is not begun: what the server answered last is returned at once. It bounds the waits, not the time
   * that a request takes; an `AbortSignal` does both. Default 60,000.
   */
  readonly timeBudgetMs?: number;
  /** How many times a request is sent again, 0 or more. Default 10. */
  readonly maxRetries?: number;
  /** Sends one request. Default: the `fetch` of the platform, as it is when the call is made. */
  readonly fetch?: Fetch;
  /** The clock, in milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number;
  /** Chance, 0 ≤ x < 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Waits for so many milliseconds; rejects with the signal's reason once it is aborted. Default: a timer. */
  readonly sleep?: (durationMs: number, signal?: AbortSignal | null) => Promise<void>;
}

/** `fetch`, with what to do when it is refused. `options` of a call stand over those of its client. */
export type BackoffFetch = (
  input: string | URL | Request,
  init?: RequestInit,
  options?: BackoffOptions,
) => Promise<Response>;

const DEFAULT_TIME_BUDGET_MS = 60_000;
const DEFAULT_MAX_RETRIES = 10;

/** A connection that fails is no limit that passes: after as many attempts again the caller should know. */
const MAX_FAILURES = 2;

/**
 * A client that remembers the limits it was told, at most 100 of them. It slows down before it is refused: when few
 * units are left it spreads them over the time until there are more. Its own calls line up: as many go at once as are known
 * to be left. Make one for each credential: limits are remembered by origin and name, and two accounts do not share them.
 * May be called at module scope of a Worker.
 */
export function createBackoff(defaults: BackoffOptions = {}): BackoffFetch {
  const memory = createMemory();
  return (input, init, options) => send(memory, input, init, { ...defaults, ...options });
}

/**
 * `fetch` that, when it is refused, waits and sends again: after 429 whatever can be sent again, after 503 with
 * `Retry-After` and after a failed connection idempotent methods only. Calls that run at the same time with the same `fetch`
 * and headers line up. Remembers nothing after the last of them: for many requests to one API make a client with
 * {@link createBackoff}.
 *
 * @returns the answer; also a refusal, if it says "never", if the wait would pass the time budget, if retries are used
 * up or the request cannot be sent again. @throws what `fetch` throws; the signal's reason if it is aborted.
 */
export const fetchWithBackoff: BackoffFetch = async (input, init, options = {}) => {
  const { fetch = globalThis.fetch } = options;
  const memory = together.get(fetch) ?? createMemory(true);
  together.set(fetch, memory);
  const headers = new Headers(init?.headers ?? (input as Partial<Request>).headers);
  return await send(memory, input, init, options, JSON.stringify([...headers]));
};

/** What calls of `fetchWithBackoff` know of each other while they run. Those with other headers may be another account's. */
const together = new WeakMap<Fetch, Memory>();

async function send(
  memory: Memory,
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

  /** Until the call may be sent. */
  const line = async () => {
    for (let waitMs = 1; waitMs > 0; ) {
      signal?.throwIfAborted();
      waitMs = memory.waitMs(call, now());
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
      const told = { retryAfterMs: retryAfterMs(headers, answeredAt), rules: rulesOf(headers, answeredAt) };
      const refused = response?.status === 429;
      const isAnswer = response && !refused && !(response.status === 503 && told.retryAfterMs !== undefined);
      const { leastMs, spreadMs, rules } = waitAfter({ ...told, retries, elapsedMs: answeredAt - firstSentAt });
      // Of a request that costs too much nothing is learned.
      if (refused && told.retryAfterMs === undefined && (await saysNever(response!))) return response!;
      if (refused) memory.answered(call, rules, answeredAt, random(), spreadMs);
      else memory.answered(call, told.rules, answeredAt, random());

      const leftMs = endsAt - now();
      const mayRepeat = retries < maxRetries && (refused || isIdempotent(method)) && isReplayable(request, init?.body);
      if (isAnswer || !mayRepeat || !(leastMs <= leftMs)) {
        if (response) return response;
        throw error;
      }
      // Frees the connection; whether that works is of no interest.
      response?.body?.cancel().catch(() => {});
      // A refusal's spread belongs to the limit, for all calls that wait for it.
      call.notBefore = now() + leastMs + (refused ? 0 : random() * Math.min(spreadMs, leftMs - leastMs));
      await line();
    }
  } finally {
    memory.leave(call);
  }
}

/** @throws {TypeError} if it is no URL. A page may name it relative to itself; so may a test with a fetch of its own. */
function routeOf(method: string, url: string, who: string): Pick<Call, "origin" | "path"> {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const { origin, pathname } = new URL(url, page?.startsWith("http") ? page : "http://localhost");
  return { origin: origin + who, path: `${method.toUpperCase()} ${pathname} ${origin + who}` };
}
