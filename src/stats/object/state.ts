/** What the object knows without reading rows: totals, isolates, and the row of the current minute. */

import { type Batch, seriesOf } from "../batch.ts";
import { NamedValues, type Path, withOwnWords } from "../metrics.ts";
import { addSum, addTo, countsIn, MAX_SERIES, noCounts, type Sums } from "./counts.ts";
import { type Isolates, remember } from "./isolates.ts";
import { isolatesIn } from "./row-text.ts";
import type { Known, Minute } from "./rows.ts";
import { DAY } from "./timeline.ts";
import { addClients } from "./top.ts";

/**
 * The texts of all series together, with about 24 characters for the number of each: a row stays below 2 MB. A
 * configuration of 500 policies has less.
 */
const MAX_TEXT = 400_000;
const TEXT_OF_SUM = 24;

export class State {
  readonly totals: Sums;
  readonly #values = new NamedValues();
  #text = 0;
  readonly #isolates: Isolates;
  /** The first minute that is in no hour's row. */
  readonly #unfolded: number;
  #minute: Minute | undefined;
  #heardAtMs: number | undefined;

  constructor({ totals, isolates, newest, heardAtMs, unfolded }: Known) {
    this.totals = totals;
    for (const series of totals.keys()) {
      this.#values.bounded(pathOf(series), false);
      this.#text += series.length + TEXT_OF_SUM;
    }
    this.#isolates = isolates;
    this.#unfolded = unfolded;
    this.#heardAtMs = heardAtMs;
    if (newest) {
      const { arrived, heard_at, isolates } = newest;
      this.#minute = { counts: countsIn(arrived, newest), heardAtMs: heard_at, isolates: isolatesIn(isolates) };
    }
  }

  /** When the last batch arrived, ms since the epoch. */
  get heardAtMs(): number | undefined {
    return this.#heardAtMs;
  }

  /**
   * The minute in which a batch arrives now. Even if the clock was set back, it is not in an hour that has its row
   * already, nor before the minute of the last batch.
   */
  minuteAt(nowMs: number): number {
    return Math.max(Math.floor(nowMs / 60_000), this.#minute?.counts.arrived ?? 0, this.#unfolded);
  }

  /** Whether this batch, or a later one of its isolate, has been added. */
  has({ isolate, number }: Batch): boolean {
    return (this.#isolates.get(isolate) ?? 0) >= number;
  }

  /** @returns the row that is to be written. */
  add({ isolate, number, minutes }: Batch, nowMs: number): Minute {
    const arrived = this.minuteAt(nowMs);
    const isSame = this.#minute?.counts.arrived === arrived;
    const { counts, isolates } = isSame ? this.#minute! : { counts: noCounts(arrived), isolates: new Map() };
    for (const { minute, sums, top } of minutes) {
      // An isolate's clock may be wrong, and a batch may be late.
      const at = Math.min(Math.max(minute, arrived - DAY), arrived);
      for (const [series, sum] of Object.entries(sums)) {
        const name = this.#named(series);
        addSum(counts, at, name, sum);
        addTo(this.totals, name, sum);
      }
      addClients(counts.top, top);
    }
    remember(this.#isolates, isolate, number);
    remember(isolates, isolate, number);
    this.#heardAtMs = nowMs;
    this.#minute = { counts, heardAtMs: nowMs, isolates };
    return this.#minute;
  }

  /** The series that is counted for this one. */
  #named(series: string): string {
    if (this.totals.has(series)) return series;
    const path = this.#values.bounded(pathOf(series), this.totals.size >= MAX_SERIES);
    const fits = this.#text + series.length + TEXT_OF_SUM <= MAX_TEXT;
    const name = nameOf(fits ? path : withOwnWords(path));
    if (!this.totals.has(name)) this.#text += name.length + TEXT_OF_SUM;
    return name;
  }
}

const pathOf = (series: string): Path => series.split("\t");
const nameOf = ([metric = "", ...values]: Path): string => seriesOf(metric, values);
