/** The minutes that an isolate has counted and not handed on yet. */

import type { MinuteCounts } from "./batch.ts";
import { Tally } from "./tally.ts";

const MINUTE_MS = 60_000;
/** While counts cannot be handed on, the oldest minutes become one: their sums stay, and their instant is lost. */
const MAX_MINUTES = 10;

export interface Minutes {
  /** Where to count now. @param nowMs the local clock, in ms since the epoch. */
  at(nowMs: number): Tally;
  /** Whether nothing was counted since the last `take`. */
  isEmpty(): boolean;
  /** All that was counted, the oldest minute first. It is counted here no longer. */
  take(): MinuteCounts[];
}

export function createMinutes(): Minutes {
  let tallies: Tally[] = [];

  return {
    at(nowMs) {
      const minute = Math.floor(nowMs / MINUTE_MS);
      const last = tallies.at(-1);
      if (last?.minute === minute) return last;
      const tally = new Tally(minute);
      tallies.push(tally);
      if (tallies.length > MAX_MINUTES) tallies[0]!.mergeNext(tallies.splice(1, 1)[0]!);
      return tally;
    },
    isEmpty: () => tallies.length === 0,
    take() {
      const taken = tallies;
      tallies = [];
      return taken.map((tally) => tally.counts());
    },
  };
}
