// The requests in flight in a test story, and where each of them holds its slots.

import type { ConcurrencyLimit } from "../../../src/kernel/core/concurrency.ts";
import type { Hold } from "../../../src/kernel/core/decision.ts";

interface Held {
  readonly hold: Hold;
  readonly isolate: number;
  /** True: the isolate's own counters hold the slots. False: the store holds them. */
  readonly isLocal: boolean;
  /** By the store's clock. */
  renewedAtMs: number;
}

/** @param isRun whether the store runs the calls of this isolate. */
export function createInFlight(limits: readonly ConcurrencyLimit[], isRun: (isolate: number) => boolean) {
  const holds: Held[] = [];
  let abandoned = 0;
  const isHeld = ({ renewedAtMs }: Held, { timeoutMs }: ConcurrencyLimit, atMs: number) =>
    atMs - renewedAtMs < timeoutMs;

  return {
    add(hold: Hold, isolate: number, isLocal: boolean, atMs: number): void {
      holds.push({ hold, isolate, isLocal, renewedAtMs: atMs });
    },

    /** Whether the store and every isolate have given out at most the limit. Lost slots do not count. */
    isWithin: (atMs: number): boolean =>
      limits.every((limit) => {
        const held = holds.filter((one) => isHeld(one, limit, atMs));
        const places = Map.groupBy(held, ({ isolate, isLocal }) => (isLocal ? isolate : "store"));
        return [...places.values()].every(({ length }) => length <= limit.limit);
      }),

    /** Notes a slot in the store that only its timeout frees. */
    abandon: () => void abandoned++,
    get size() {
      return holds.length;
    },
    get abandoned() {
      return abandoned;
    },

    /** @param n modulo the number of requests in flight. */
    async renew(n: number, atMs: number): Promise<void> {
      const held = holds[n % holds.length];
      // A lost slot is not renewed. Its request stays in flight.
      if (!held || limits.some((limit) => !isHeld(held, limit, atMs))) return;
      await held.hold.renew();
      if (held.isLocal || isRun(held.isolate)) held.renewedAtMs = atMs;
    },

    async release(n: number): Promise<void> {
      const [held] = holds.splice(n % holds.length, 1);
      if (!held) return;
      await held.hold.release();
      if (!held.isLocal && !isRun(held.isolate)) abandoned++;
    },
  };
}
