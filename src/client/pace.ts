/**
 * What a client remembers between calls, so that it slows down before it is refused: for each limit of an origin when
 * the next request may go. Plain data, bounded, no timer: a Worker may make one at module scope.
 */

import type { Rule } from "./fields.ts";

/** One limit that is nearly used up. */
interface Pace {
  /** When the next request may be sent, ms since the epoch. Whoever takes that turn moves it on. */
  turnAt: number;
  /** Between two turns, in milliseconds. */
  readonly gapMs: number;
  /** What was told holds until then, ms since the epoch. */
  readonly untilAt: number;
}

/** Where a request goes; limits are remembered by origin, and which of them apply by method and path. */
export interface Route {
  readonly origin: string;
  readonly path: string;
}

export interface Turn {
  /** How long to hold the request back, 0 or more. */
  readonly afterMs: number;
  /** A wait by chance on top of that: from 0 up to this. */
  readonly spreadMs: number;
}

export interface Memory {
  /** Takes the next turn; one that is later than `mostMs` is not worth waiting for, and it is now then. */
  turn(route: Route, nowMs: number, mostMs: number): Turn;
  /** Learns from an answer. */
  note(route: Route, rules: readonly Rule[], nowMs: number): void;
}

/** Limits and paths remembered, each; the one noted longest ago goes first. About 20 KB when full. */
const MAX_ENTRIES = 100;

/** Below this part of the quota a client spreads what is left; above it, it goes as fast as it likes. */
const FEW = 0.2;
/** The same where the quota is not told. */
const FEW_UNITS = 2;
/** How many units to expect of a limit that does not tell its quota. */
const GUESSED_QUOTA = 10;

const NOW: Turn = { afterMs: 0, spreadMs: 0 };

export function createMemory(): Memory {
  const paces = new Map<string, Pace>();
  /** Which limits answered last: under this method and path, and at this origin. */
  const applied = new Map<string, readonly string[]>();

  return {
    turn({ origin, path }, nowMs, mostMs) {
      const keys = applied.get(path) ?? applied.get(origin) ?? [];
      const active = keys
        .flatMap((key) => paces.get(key) ?? [])
        .filter(({ turnAt, untilAt }) => Math.max(turnAt, untilAt) > nowMs);
      const turnAt = Math.max(nowMs, ...active.map((pace) => pace.turnAt));
      const afterMs = turnAt - nowMs;
      if (afterMs > mostMs) return NOW;
      const gapMs = Math.max(0, ...active.map((pace) => pace.gapMs));
      for (const pace of active) pace.turnAt = turnAt + pace.gapMs;
      return afterMs > 0 ? { afterMs, spreadMs: Math.min(gapMs, mostMs - afterMs) } : NOW;
    },

    note({ origin, path }, rules, nowMs) {
      if (rules.length === 0) return;
      const keys = rules.map(({ name }) => `${origin} ${name}`);
      remember(applied, path, keys);
      remember(applied, origin, keys);
      rules.forEach(({ remaining, afterMs, quota, windowMs }, i) => {
        const key = keys[i]!;
        const pace = paces.get(key);
        // While somebody waits for a turn the next one comes after it, whatever is told meanwhile.
        const takenAt = pace && pace.turnAt - pace.gapMs > nowMs ? pace.turnAt : 0;
        if (!afterMs || remaining > Math.max(1, quota === undefined ? FEW_UNITS : quota * FEW)) {
          if (!takenAt) paces.delete(key);
          return;
        }
        const firstMs = afterMs / (Math.floor(remaining) + 1);
        // With units left they are spread over the time until there are more; with none, turns come as units do.
        const gapMs = remaining < 1 ? (windowMs ?? afterMs) / (quota || GUESSED_QUOTA) : firstMs;
        const turnAt = Math.max(takenAt, nowMs + firstMs);
        remember(paces, key, { turnAt, gapMs, untilAt: nowMs + afterMs });
      });
    },
  };
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MAX_ENTRIES) map.delete(map.keys().next().value!);
}
