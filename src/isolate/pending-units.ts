/** Units that requests of this isolate ask the store for, or wait for, at this moment, by key. */

import { createPending } from "./pending.ts";

/** Units no longer count after this long, in ms: their request was ended before it could take them back. */
const FORGOTTEN_MS = 1_000;

export interface PendingUnits {
  /** @param atMs by the local clock, ms since the epoch. @returns a function to call when the answer has come. */
  begin(key: string, units: number, atMs: number): () => void;
  /** The pending units of a key. */
  units(key: string, localAtMs: number): number;
}

export function countPendingUnits(): PendingUnits {
  const pending = createPending<{ readonly units: number; readonly atMs: number }>(FORGOTTEN_MS);

  return {
    begin: (key, units, atMs) => pending.begin(key, { units, atMs }),
    units(key, localAtMs) {
      let sum = 0;
      for (const { units } of pending.recent(key, localAtMs)) sum += units;
      return sum;
    },
  };
}
