/**
 * A `fetch` for callers of a limited API. It waits as long as the server says and a random time longer, and only sends
 * again what is safe to send again. It keeps nothing between calls. No dependencies, and no side effects when imported.
 */

import { sleep as timerSleep } from "../kernel/sleep.ts";
import { retryAfterMs, rulesOf, type StatedLimit } from "./fields.ts";

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

const DEFAULT_TIME_BUDGET_MS = 60_000;
const DEFAULT_MAX_RETRIES = 10;

/** A failed connection is not a limit that ends with time: after 2 more attempts the caller gets the error. */
const MAX_FAILURES = 2;

/** Waits when the server states none: 1 s, 2 s, 4 s, … up to the longest. */
const FIRST_GUESS_MS = 1000;
const LONGEST_GUESS_MS = 32_000;

/**
 * Clients refused together are told the same instant. Their retries are spread over this many windows. Example: 100
 * clients and a limit of 10 per window give about 18 retries in each window. The limit stays fully used, and the other
 * clients are refused once more, not ten times. Fewer windows cost more requests, more windows cost more time.
 */
const SPREAD_WINDOWS = 5;

/** Bounds of a window in the spread: a lone client of a limit per minute should not wait for minutes. */
const SHORTEST_WINDOW_MS = 200;
const LONGEST_WINDOW_MS = 3000;

/**
 * The number of waiting clients is unknown. A client that is still refused after a time T knows that serving the crowd
 * takes at least T. A spread of T / 3 bounds two things for any crowd. The number of requests grows with the logarithm
 * of the crowd's size. When the limit has room for all remaining clients, the last one comes within T / 3.
 * Rejected: a spread that doubles with each attempt ends in a tail as long as the crowd.
 */
const SPREADS_IN_ELAPSED = 3;

/** headgate says `X-Should-Retry: false` beside every longer wait, for clients that have no time budget. */
const LONGEST_ADVISED_MS = 60_000;

/** The longest wait that headgate's headers say: a day. */
const LONGEST_STATED_MS = 86_400_000;

/** Idempotent methods: a second request changes nothing beyond the first one (RFC 9110, section 9.2.2). */
const IDEMPOTENT = /^(GET|HEAD|OPTIONS|TRACE|PUT|DELETE)$/i;

/**
 * `fetch` that waits and sends again. After 429: every request whose body can be sent again. After 503 with
 * `Retry-After`, and after a failed connection: idempotent methods only.
 *
 * @returns the answer. It is a refusal if it says that no retry helps, if the wait would exceed the time budget, if no
 * retries are left, or if the request cannot be sent again.
 * @throws what `fetch` throws; the signal's reason if the signal is aborted; a `TypeError` for what is no URL.
 */
export async function fetchWithBackoff(
  input: string | URL | Request,
  init?: RequestInit,
  options: BackoffOptions = {},
): Promise<Response> {
  const {
    timeBudgetMs = DEFAULT_TIME_BUDGET_MS,
    maxRetries = DEFAULT_MAX_RETRIES,
    fetch = globalThis.fetch,
    now = Date.now,
    random = Math.random,
    sleep = timerSleep,
  } = options;
  const request = typeof input === "object" && "method" in input ? input : undefined;
  const method = init?.method ?? request?.method ?? "GET";
  const signal = init?.signal === undefined ? request?.signal : init.signal;
  const startedAt = now();
  let failures = 0;
  // What is no URL is a mistake and no failed connection: this throws.
  new URL(request?.url ?? String(input), "http://localhost");

  for (let retries = 0; ; retries++) {
    signal?.throwIfAborted();
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
    const leftMs = startedAt + timeBudgetMs - answeredAt;
    const statedMs = retryAfterMs(headers, answeredAt);
    const stated: Stated = {
      retryAfterMs: statedMs === LONGEST_STATED_MS && statedMs <= leftMs ? await wholeWait(response!) : statedMs,
      rules: rulesOf(headers, answeredAt),
    };
    const { leastMs, spreadMs } = waitAfter(stated, retries, answeredAt - startedAt);
    const mayRepeat =
      retries < maxRetries &&
      leastMs <= leftMs &&
      mayHelp(response, method, stated) &&
      isReplayable(request, init?.body);
    if (!mayRepeat) {
      if (response) return response;
      throw error;
    }
    // Free the connection. A failure here changes nothing.
    response?.body?.cancel().catch(() => {});
    const waitMs = leastMs + random() * Math.min(spreadMs, leftMs - leastMs);
    if (waitMs > 0) await sleep(waitMs, signal);
  }
}

/** The wait of a refusal whose header says the longest one that headers say: its body may know of a longer one. */
async function wholeWait(response: Response): Promise<number> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  const { retryAfterMs } = (body ?? {}) as { readonly retryAfterMs?: unknown };
  return Math.max(LONGEST_STATED_MS, Number(retryAfterMs) || 0);
}

/** Whether the answer, or without one the failed connection, leaves the hope that a second request is admitted. */
function mayHelp(response: Response | undefined, method: string, { retryAfterMs }: Stated): boolean {
  const isIdempotent = IDEMPOTENT.test(method);
  if (!response) return isIdempotent;
  const { status, headers } = response;
  if (headers.get("X-Should-Retry") === "false" && !((retryAfterMs ?? 0) > LONGEST_ADVISED_MS)) return false;
  return status === 429 || (status === 503 && retryAfterMs !== undefined && isIdempotent);
}

/**
 * Whether the body can be sent again. A stream cannot, nor can the body of a `Request`: sending uses it up.
 * Call this after the first request was sent.
 */
function isReplayable(request: Request | undefined, body: unknown): boolean {
  if (body === undefined || body === null) return !request?.bodyUsed;
  return typeof body !== "object" || !("getReader" in body || Symbol.asyncIterator in body);
}

/** What an answer says of the wait. */
interface Stated {
  readonly retryAfterMs: number | undefined;
  readonly rules: readonly StatedLimit[];
}

/**
 * How long to wait before the next request: no clock and no randomness.
 *
 * @param retries how many retries came before, 0 or more.
 * @param elapsedMs the time since the call began.
 * @returns `leastMs`: the wait that the server asks for, or a guess; the client never waits less. It adds a random
 * wait, uniform from 0 to `spreadMs`.
 */
function waitAfter({ retryAfterMs, rules }: Stated, retries: number, elapsedMs: number) {
  // The reason is a limit with no unit left. If every limit has units left, the request costs more than one of them
  // has, and the answer does not say which one: take all limits.
  const exhausted = rules.filter(({ remaining }) => remaining < 1);
  const reasons = exhausted.length > 0 ? exhausted : rules;
  const longest = (what: "afterMs" | "windowMs") => {
    const all = reasons.flatMap((rule) => rule[what] ?? []);
    return all.length > 0 ? Math.max(...all) : undefined;
  };
  const leastMs = retryAfterMs ?? longest("afterMs") ?? Math.min(FIRST_GUESS_MS * 2 ** retries, LONGEST_GUESS_MS);
  const windowMs = Math.min(Math.max(longest("windowMs") ?? leastMs, SHORTEST_WINDOW_MS), LONGEST_WINDOW_MS);
  return { leastMs, spreadMs: Math.max(SPREAD_WINDOWS * windowMs, elapsedMs / SPREADS_IN_ELAPSED) };
}
