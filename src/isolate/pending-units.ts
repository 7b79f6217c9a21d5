/** What this isolate is asking the store for at this moment, or waits for, by key. */

import { BoundedMap } from "../bounded-map.ts";

/** An ask that has not come back by then is not counted any more: its request was ended before it could say so. */
const FORGOTTEN_MS = 1_000;
const MAX_KEYS = 10_000;

interface Ask {
  readonly units: number;
  readonly atMs: number;
}

export interface PendingUnits {
  /** Instants by the local clock, ms since the epoch. @returns what is to be called when the answer is there. */
  begin(key: string, units: number, atMs: number): () => void;
  /** Units that are asked for. */
  units(key: string, localAtMs: number): number;
}

export function countPendingUnits(): PendingUnits {
  // Bounded, because an ask that was ended with its request is taken out by nobody but the next who counts.
  const asks = new BoundedMap<string, Set<Ask>>({ maxSize: MAX_KEYS });

  return {
    begin(key, units, atMs) {
      const ask = { units, atMs };
      const same = asks.get(key) ?? new Set();
      asks.set(key, same.add(ask));
      return () => {
        same.delete(ask);
        if (same.size === 0 && asks.get(key) === same) asks.delete(key);
      };
    },
    units(key, localAtMs) {
      let sum = 0;
      const same = asks.get(key);
      for (const ask of same ?? []) {
        if (Math.abs(localAtMs - ask.atMs) < FORGOTTEN_MS) sum += ask.units;
        else same!.delete(ask);
      }
      return sum;
    },
  };
}
