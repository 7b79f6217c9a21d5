/** How long to wait after a refusal. Pure: chance is an argument. */

import type { Rule } from "./fields.ts";

/** What came back that was no success. */
export interface Refusal {
  /** From `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  readonly rules: readonly Rule[];
  /** How many refusals came before, 0 or more. */
  readonly retries: number;
  /** How long this call has been refused: since its first request was sent. */
  readonly elapsedMs: number;
}

export interface Wait {
  /** What the server asked for, or a guess if it asked for nothing. Never less is waited. */
  readonly leastMs: number;
  /** On top of that, a wait drawn evenly from 0 up to this. */
  readonly spreadMs: number;
  /** What the refusal says of the limits: those that may be its reason have nothing left for as long as it asks for. */
  readonly rules: readonly Rule[];
}

/** Without a word from the server: 1 s, 2 s, 4 s, … up to this. */
const FIRST_GUESS_MS = 1000;
const LONGEST_GUESS_MS = 32_000;

/**
 * Everybody who is refused together is told the same instant. They come back over this many windows: of 100 clients at
 * 10 per window 18 come in each, so that a limit that is busy stays busy and the others are refused once more, not ten
 * times. Fewer windows cost requests, more of them time (docs/client.md has the figures).
 */
const SPREAD_WINDOWS = 5;

/** A window as far as the spread is concerned: someone alone with a limit per minute is not to wait for minutes. */
const SHORTEST_WINDOW_MS = 200;
const LONGEST_WINDOW_MS = 3000;

/**
 * How many others wait is unknown, but whoever is still refused after a time has learned that the crowd is worth at
 * least that time. A third of it keeps both ends bounded whatever the crowd: the number of requests grows with the logarithm
 * of its size, and once the limit has room for all that is left, the last one comes within a third of the
 * time it took so far.
 * A spread that doubles with each attempt ends in a tail as long as the crowd itself.
 */
const SPREADS_IN_ELAPSED = 3;

export function waitAfter({ retryAfterMs, rules, retries, elapsedMs }: Refusal): Wait {
  // The limits that may be the reason: those that have no unit left. If all have some, the request costs more than one of
  // them holds, and nobody knows which: all.
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
