/**
 * A fetch for callers of a limited API: waits as long as it is told, not all at the same instant, and only for what is
 * safe to send again. Imports nothing, and nothing happens when it is imported.
 */

import { isIdempotent, isReplayable, saysNever } from "./again.ts";
import { retryAfterMs, rulesOf } from "./fields.ts";
import { createMemory, type Memory, type Route } from "./pace.ts";
import { sleep as timerSleep } from "./sleep.ts";
import { toldMs, waitAfter } from "./waits.ts";

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

/** Two waits that differ by less end at the same instant: one was computed with an epoch added and taken off again. */
const SAME_TURN_MS = 1;

/**
 * A client that remembers the limits it was told, at most 100 of them, and so slows down before it is refused: when few
 * units are left it spreads them over the time until there are more. Make one for each credential: limits are
 * remembered by origin and name, and two accounts do not share them. May be called at module scope of a Worker.
 */
export function createBackoff(defaults: BackoffOptions = {}): BackoffFetch {
  const memory = createMemory();
  return (input, init, options) => send(memory, input, init, { ...defaults, ...options });
}

/**
 * `fetch` that, when it is refused, waits and sends again: after 429 whatever can be sent again, after 503 with
 * `Retry-After` and after a failed connection idempotent methods only. Remembers nothing after the call: for many
 * requests to one API make a client with {@link createBackoff}.
 *
 * @returns the answer; also a refusal, if it says "never", if the wait would pass the time budget, if retries are used
 * up or the request cannot be sent again. @throws what `fetch` throws; the signal's reason if it is aborted.
 */
export const fetchWithBackoff: BackoffFetch = (input, init, options) => send(createMemory(), input, init, options);

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
  }: BackoffOptions = {},
): Promise<Response> {
  const request = typeof input === "object" && "method" in input ? input : undefined;
  const method = init?.method ?? request?.method ?? "GET";
  const signal = init?.signal === undefined ? request?.signal : init.signal;
  const route = routeOf(method, request?.url ?? String(input));
  const endsAt = now() + timeBudgetMs;
  let failures = 0;

  const pause = async (durationMs: number) => {
    signal?.throwIfAborted();
    if (durationMs > 0) await sleep(durationMs, signal);
    signal?.throwIfAborted();
  };

  const first = memory.turn(route, now(), endsAt - now());
  await pause(first.afterMs + random() * first.spreadMs);
  const firstSentAt = now();
  for (let retries = 0; ; retries++) {
    const { response, error } = await fetch(input, init).then(
      (response) => ({ response, error: undefined }),
      (error: unknown) => ({ response: undefined, error }),
    );
    const answeredAt = now();
    const giveUp = () => {
      if (response) return response;
      throw error;
    };

    if (!response) {
      signal?.throwIfAborted();
      if (++failures > MAX_FAILURES) throw error;
    }
    const told = response && {
      retryAfterMs: retryAfterMs(response.headers, answeredAt),
      rules: rulesOf(response.headers, answeredAt),
    };
    const refused = response?.status === 429;
    const isBusy = response?.status === 503 && told?.retryAfterMs !== undefined;
    if (told) memory.note(route, refused ? withWait(told.rules, toldMs(told)) : told.rules, answeredAt);

    if (response && !refused && !isBusy) return response;
    if (retries >= maxRetries || !(refused || isIdempotent(method)) || !isReplayable(request, init?.body))
      return giveUp();
    if (refused && told?.retryAfterMs === undefined && (await saysNever(response))) return response;

    const elapsedMs = answeredAt - firstSentAt;
    const { leastMs, spreadMs } = waitAfter({ retryAfterMs: undefined, rules: [], ...told, retries, elapsedMs });
    const leftMs = endsAt - now();
    if (!(leastMs <= leftMs)) return giveUp();
    // Frees the connection; whether that works is of no interest.
    response?.body?.cancel().catch(() => {});
    const turn = memory.turn(route, now(), leftMs);
    // Behind other calls of this client its turn keeps it apart from them; whoever comes first is spread among strangers.
    const isBehind = turn.afterMs > leastMs + SAME_TURN_MS;
    const afterMs = isBehind ? turn.afterMs : leastMs;
    await pause(afterMs + random() * Math.min(isBehind ? turn.spreadMs : spreadMs, leftMs - afterMs));
  }
}

/** The rules of a refusal: those with nothing left have nothing for as long as the refusal says. */
function withWait(rules: ReturnType<typeof rulesOf>, waitMs: number | undefined): ReturnType<typeof rulesOf> {
  if (rules.length === 0) return [{ name: "", remaining: 0, afterMs: waitMs }];
  return rules.map((rule) => (rule.remaining < 1 ? { ...rule, afterMs: waitMs } : rule));
}

/** @throws {TypeError} if it is no URL. A page may name it relative to itself; so may a test with a fetch of its own. */
function routeOf(method: string, url: string): Route {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const { origin, pathname } = new URL(url, page?.startsWith("http") ? page : "http://localhost");
  return { origin, path: `${method.toUpperCase()} ${origin}${pathname}` };
}
