/** The minutes that an isolate has counted and not handed on yet. */

import type { MinuteCounts } from "./batch.ts";
import { Tally } from "./tally.ts";

const MINUTE_MS = 60_000;
/** While counts cannot be handed on, the oldest minutes become one: their sums stay, and their instant is lost. */
const MAX_MINUTES = 10;

export class Minutes {
  #tallies: Tally[] = [];

  /** Where to count now. @param nowMs the local clock, in ms since the epoch. */
  at(nowMs: number): Tally {
    const minute = Math.floor(nowMs / MINUTE_MS);
    const last = this.#tallies.at(-1);
    if (last?.minute === minute) return last;
    const tally = new Tally(minute);
    append(this.#tallies, tally);
    return tally;
  }

  /** Whether nothing was counted since the last `take`. */
  isEmpty(): boolean {
    return this.#tallies.length === 0;
  }

  /** All that was counted, the oldest minute first. It is counted here no longer. */
  take(): MinuteCounts[] {
    const taken = this.#tallies;
    this.#tallies = [];
    return taken.map((tally) => tally.counts());
  }
}

function append(tallies: Tally[], tally: Tally): void {
  const last = tallies.at(-1);
  if (last?.minute === tally.minute) last.mergeNext(tally);
  else tallies.push(tally);
  if (tallies.length > MAX_MINUTES) tallies[0]!.mergeNext(tallies.splice(1, 1)[0]!);
}
