/** A clock that tests move, and stores that follow it. */

import type { Store } from "../kernel/store/store.ts";

/** A clock that stands still until the test moves it. */
export interface FakeClock {
  /** The instant, ms since the epoch. */
  nowMs(): number;
  /** Moves the clock forward by this many milliseconds: an integer, 0 or more. @throws {TypeError} for others. */
  advance(ms: number): void;
}

/**
 * Makes a clock that stands still.
 *
 * @param startMs its first instant, ms since the epoch: an integer above 0. Default 1,700,000,000,000: 2023-11-14
 * 22:13:20 UTC.
 * @throws {TypeError} if `startMs` is not such an integer.
 */
export function fakeClock(startMs = 1_700_000_000_000): FakeClock {
  let nowMs = checked("fakeClock: startMs", startMs, 1);
  return {
    nowMs: () => nowMs,
    advance(ms) {
      nowMs += checked("advance", ms, 0);
    },
  };
}

/**
 * A store whose takes happen at the instant of the clock: give it to `createLimiter`, and a test of a limit need not
 * wait. The store is asked every time: what an instance adds to a store far away follows the true clock, and is left
 * out.
 */
export function storeAt(store: Store, clock: Pick<FakeClock, "nowMs">): Store {
  return {
    kind: store.kind,
    keySecret: store.keySecret,
    ...(store.timeoutMs !== undefined && { timeoutMs: store.timeoutMs }),
    take: (request, nowMs = clock.nowMs(), budgetMs) => store.take(request, nowMs, budgetMs),
    reset: (keys) => store.reset(keys),
    ping: () => store.ping(),
  };
}

function checked(what: string, ms: number, least: number): number {
  if (Number.isSafeInteger(ms) && ms >= least) return ms;
  throw new TypeError(`${what}: expected an integer of ${least} or more, in milliseconds, found ${String(ms)}`);
}
