/** Units that requests of this isolate ask the store for, or wait for, at this moment, by key. */

import { BoundedMap } from "../bounded-map.ts";

/** Units no longer count after this long, in ms: their request was ended before it could take them back. */
const FORGOTTEN_MS = 1_000;
const MAX_KEYS = 10_000;

interface Pending {
  readonly units: number;
  readonly atMs: number;
}

export interface PendingUnits {
  /** @param atMs by the local clock, ms since the epoch. @returns a function to call when the answer has come. */
  begin(key: string, units: number, atMs: number): () => void;
  /** The pending units of a key. */
  units(key: string, localAtMs: number): number;
}

export function countPendingUnits(): PendingUnits {
  // Bounded, because the units of a request that was ended stay until somebody counts them.
  const pending = new BoundedMap<string, Set<Pending>>({ maxSize: MAX_KEYS });

  return {
    begin(key, units, atMs) {
      const one = { units, atMs };
      const same = pending.get(key) ?? new Set();
      pending.set(key, same.add(one));
      return () => {
        same.delete(one);
        if (same.size === 0 && pending.get(key) === same) pending.delete(key);
      };
    },
    units(key, localAtMs) {
      let sum = 0;
      const same = pending.get(key);
      for (const one of same ?? []) {
        if (Math.abs(localAtMs - one.atMs) < FORGOTTEN_MS) sum += one.units;
        else same!.delete(one);
      }
      return sum;
    },
  };
}
