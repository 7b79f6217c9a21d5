/** What the object knows without reading rows: totals, isolates, and the row of the current minute. */

import { type Batch, seriesOf } from "../batch.ts";
import { NamedRegions, type Path, withOwnWords } from "../metrics.ts";
import { addClients, addSum, addTo, type Counts, DAY, MAX_SERIES, noCounts, remember, type Sums } from "./counts.ts";
import type { Known } from "./rows.ts";

/**
 * The texts of all series together, with about 24 characters for the number of each: a row stays below 2 MB. A
 * configuration of 500 policies has less.
 */
const MAX_TEXT = 400_000;
const TEXT_OF_SUM = 24;

export class State {
  readonly #known: Known;
  readonly #regions = new NamedRegions();
  #text = 0;

  constructor(known: Known) {
    this.#known = known;
    for (const series of known.totals.keys()) {
      this.#regions.bounded(pathOf(series), false);
      this.#text += series.length + TEXT_OF_SUM;
    }
  }

  get totals(): Sums {
    return this.#known.totals;
  }

  /** When the last batch arrived, ms since the epoch. */
  get heardAtMs(): number | undefined {
    return this.#known.heardAtMs;
  }

  /**
   * The minute in which a batch arrives now. Even if the clock was set back, it is not in an hour that has its row
   * already, nor before the minute of the last batch.
   */
  minuteAt(nowMs: number): number {
    return Math.max(Math.floor(nowMs / 60_000), this.#known.newest?.arrived ?? 0, this.#known.unfolded);
  }

  /** Whether this batch, or a later one of its isolate, has been added. */
  has({ isolate, number }: Batch): boolean {
    return (this.#known.isolates.get(isolate) ?? 0) >= number;
  }

  /** @returns what the row that is to be written counts. */
  add({ isolate, number, minutes }: Batch, nowMs: number): Counts {
    const known = this.#known;
    const arrived = this.minuteAt(nowMs);
    const counts = known.newest?.arrived === arrived ? known.newest : noCounts(arrived);
    for (const { minute, sums, top } of minutes) {
      // An isolate's clock may be wrong, and a batch may be late.
      const at = Math.min(Math.max(minute, arrived - DAY), arrived);
      for (const [series, sum] of Object.entries(sums)) {
        const name = this.#named(series);
        addSum(counts, at, name, sum);
        addTo(known.totals, name, sum);
      }
      addClients(counts.top, top);
    }
    remember(known.isolates, isolate, number);
    remember(counts.isolates, isolate, number);
    known.heardAtMs = nowMs;
    known.newest = counts;
    return counts;
  }

  /** The series that is counted for this one. */
  #named(series: string): string {
    if (this.totals.has(series)) return series;
    const path = this.#regions.bounded(pathOf(series), this.totals.size >= MAX_SERIES);
    const fits = this.#text + series.length + TEXT_OF_SUM <= MAX_TEXT;
    const name = nameOf(fits ? path : withOwnWords(path));
    if (!this.totals.has(name)) this.#text += name.length + TEXT_OF_SUM;
    return name;
  }
}

const pathOf = (series: string): Path => series.split("\t");
const nameOf = ([metric = "", ...values]: Path): string => seriesOf(metric, values);
