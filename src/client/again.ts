/** Whether a request may be sent a second time, and after how long. */

import type { Rule } from "./fields.ts";

/** Idempotent methods: a second request changes nothing beyond the first one (RFC 9110, section 9.2.2). */
const IDEMPOTENT = /^(GET|HEAD|OPTIONS|TRACE|PUT|DELETE)$/i;

export function isIdempotent(method: string): boolean {
  return IDEMPOTENT.test(method);
}

/**
 * Whether the body can be sent again. A stream cannot, nor can the body of a `Request`: sending uses it up.
 * Call this after the first request was sent.
 */
export function isReplayable(request: Request | undefined, body: unknown): boolean {
  if (body === undefined || body === null) return !request?.bodyUsed;
  return typeof body !== "object" || !("getReader" in body || Symbol.asyncIterator in body);
}

/** A problem document is shorter, and only its beginning is read: a body may be endless. */
const LONGEST_PROBLEM_BYTES = 4096;

/**
 * Whether the answer says that waiting does not help, because the request costs more than the limit:
 * `X-Should-Retry: false`, or a problem document with `"retry":"never"`. The caller can still read the whole body.
 *
 * @param patienceMs how long the document is waited for; 0: it is not read.
 * @param sleep waits until its signal is aborted.
 */
export async function saysNever(
  response: Response,
  patienceMs: number,
  sleep: (durationMs: number, signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const { headers } = response;
  if (headers.get("X-Should-Retry") === "false") return true;
  if (!patienceMs || !/problem\+json/i.test(headers.get("Content-Type") ?? "")) return false;
  const reader = response.clone().body?.getReader();
  const isOver = new AbortController();
  let text = "";
  const read = async () => {
    const decoder = new TextDecoder();
    for (let bytes = 0; bytes < LONGEST_PROBLEM_BYTES; ) {
      const { value } = (await reader?.read()) ?? {};
      if (!value) return;
      bytes += value.length;
      text += decoder.decode(value, { stream: true });
    }
  };
  await Promise.race([read(), sleep(patienceMs, isOver.signal)]).catch(() => {});
  isOver.abort();
  // The promise is not awaited: it waits until the caller has given up the body too.
  reader?.cancel().catch(() => {});
  try {
    return JSON.parse(text).retry === "never";
  } catch {
    return false;
  }
}

/** An answer that was not a success, or a failed connection. */
interface Refusal {
  /** From `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  readonly rules: readonly Rule[];
  /** How many retries came before, 0 or more. */
  readonly retries: number;
  /** The time since the first request of this call was sent. */
  readonly elapsedMs: number;
}

interface Wait {
  /** The wait that the server asks for; a guess if it asks for none. The client never waits less. */
  readonly leastMs: number;
  /** The client adds a random wait, uniform from 0 to this. */
  readonly spreadMs: number;
  /** The refusal's limits. Limits that may be its reason have 0 units left for `leastMs`. */
  readonly rules: readonly Rule[];
}

/** Waits when the server states none: 1 s, 2 s, 4 s, … up to the longest. */
const FIRST_GUESS_MS = 1000;
const LONGEST_GUESS_MS = 32_000;

/**
 * Clients refused together are told the same instant. Their retries are spread over this many windows. Example: 100
 * clients and a limit of 10 per window give about 18 retries in each window. The limit stays fully used, and the other
 * clients are refused once more, not ten times. Fewer windows cost more requests, more windows cost more time (figures:
 * docs/decisions/0023-callers-that-wait.md).
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

/** How long to wait after a refusal: no clock and no randomness. */
export function waitAfter({ retryAfterMs, rules, retries, elapsedMs }: Refusal): Wait {
  // The reason is a limit with no unit left. If every limit has units left, the request costs more than one of them
  // has, and the answer does not say which one: take all limits.
  const exhausted = rules.filter(({ remaining }) => remaining < 1);
  const reasons = exhausted.length > 0 ? exhausted : rules;
  const longest = (what: "afterMs" | "windowMs") => {
    const all = reasons.flatMap((rule) => rule[what] ?? []);
    return all.length > 0 ? Math.max(...all) : undefined;
  };
  const leastMs = retryAfterMs ?? longest("afterMs") ?? Math.min(FIRST_GUESS_MS * 2 ** retries, LONGEST_GUESS_MS);
  const widthMs = Math.min(Math.max(longest("windowMs") ?? leastMs, SHORTEST_WINDOW_MS), LONGEST_WINDOW_MS);
  const nothing = { remaining: 0, afterMs: leastMs };
  return {
    leastMs,
    spreadMs: Math.max(SPREAD_WINDOWS * widthMs, elapsedMs / SPREADS_IN_ELAPSED),
    rules:
      rules.length > 0
        ? rules.map((rule) => (reasons.includes(rule) ? { ...rule, ...nothing } : rule))
        : [{ name: "", ...nothing }],
  };
}
