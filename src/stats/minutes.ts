/** The minutes that an isolate has counted and not handed on yet. */

import type { MinuteCounts } from "./batch.ts";
import { Tally } from "./tally.ts";

const MINUTE_MS = 60_000;
/** While counts cannot be handed on, the oldest minutes become one: their sums stay, and their instant is lost. */
const MAX_MINUTES = 10;

export class Minutes {
  #shown: Tally[] = [];
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
    return this.#shown.length === 0 && this.#tallies.length === 0;
  }

  /** What was counted since the last `show` or `take`, the oldest minute first. It stays until it is taken. */
  show(): MinuteCounts[] {
    const counts = this.#tallies.map((tally) => tally.counts());
    for (const tally of this.#tallies) append(this.#shown, tally);
    this.#tallies = [];
    return counts;
  }

  /** All that was counted, the oldest minute first. It is counted here no longer. */
  take(): MinuteCounts[] {
    for (const tally of this.#tallies) append(this.#shown, tally);
    const taken = this.#shown;
    [this.#shown, this.#tallies] = [[], []];
    return taken.map((tally) => tally.counts());
  }
}

function append(tallies: Tally[], tally: Tally): void {
  const last = tallies.at(-1);
  if (last?.minute === tally.minute) last.mergeNext(tally);
  else tallies.push(tally);
  if (tallies.length > MAX_MINUTES) tallies[0]!.mergeNext(tallies.splice(1, 1)[0]!);
}
