/** What the object knows without reading rows: totals, isolates, and the row of the current minute. */

import { type Batch, seriesOf } from "../batch.ts";
import { METRICS, OTHER, OWN_WORDS } from "../metrics.ts";
import { addSum, addTo, countsIn, MAX_SERIES, noCounts, type Sums } from "./counts.ts";
import { type Isolates, remember } from "./isolates.ts";
import { isolatesIn, type Known, type Minute } from "./rows.ts";
import { DAY } from "./timeline.ts";
import { addClients } from "./top.ts";

export class State {
  readonly totals: Sums;
  readonly #isolates: Isolates;
  /** The first minute that is in no hour's row. */
  readonly #unfolded: number;
  #minute: Minute | undefined;
  #heardAtMs: number | undefined;

  constructor({ totals, isolates, newest, heardAtMs, unfolded }: Known) {
    this.totals = totals;
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
    return this.totals.has(series) || this.totals.size < MAX_SERIES ? series : otherOf(series);
  }
}

/** The same series without its unbounded part: sums stay true, and words of the program stay. */
function otherOf(series: string): string {
  const [name = "", ...values] = series.split("\t");
  const metric = METRICS.find((metric) => metric.series === name.replace(/_sum$/, ""));
  const labels = metric ? [...metric.labels, "le"] : [];
  return seriesOf(
    name,
    values.map((value, i) => (OWN_WORDS.includes(labels[i] ?? "") ? value : OTHER)),
  );
}
