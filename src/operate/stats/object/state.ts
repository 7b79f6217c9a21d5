/** What the object knows without reading rows: totals, isolates, and the row of the current minute. */

import { isCount } from "../../../kernel/core/algorithm.ts";
import type { Batch } from "../batch.ts";
import { NamedValues, type Path, withOwnWords } from "../metrics.ts";
import {
  addClients,
  addSum,
  addTo,
  addWhere,
  type CountsText,
  countsIn,
  DAY,
  HOUR,
  isolatesIn,
  MAX_SERIES,
  noCounts,
  remember,
  type StoredCounts,
  type Sums,
  sumsIn,
  totalsIn,
} from "./counts.ts";

/**
 * The texts of all series together, with about 24 characters for the number of each: a row stays below 2 MB. A
 * configuration of 500 policies has less.
 */
const MAX_TEXT = 400_000;
const TEXT_OF_SUM = 24;

interface RowHead extends Record<string, SqlStorageValue> {
  readonly arrived: number;
  readonly heard_at: number;
  readonly isolates: string;
}

export interface MinuteRow extends RowHead, CountsText {}

export interface HourHead extends RowHead {
  readonly totals: string;
}

export class StatsState {
  /** The sums since counting began, without series that have been forgotten (counts.ts). */
  readonly totals: Sums;
  readonly isolates: StoredCounts["isolates"];
  /** When the last batch arrived, ms since the epoch. */
  heardAtMs: number | undefined;
  /** What the row that changes counts; undefined: there is none since the newest hour. */
  #newest: StoredCounts | undefined;
  /** The first minute that is in no hour's row. */
  readonly #unfolded: number;
  readonly #names = new NamedValues();
  #text = 0;

  /** @param hour the newest one. @param minutes after it, in order. */
  constructor(hour: HourHead | undefined, minutes: Iterable<MinuteRow>) {
    this.totals = new Map(totalsIn(hour?.totals).map(([series, sum]) => [series, sum]));
    this.isolates = isolatesIn(hour?.isolates);
    this.heardAtMs = hour && heardIn(hour);
    this.#unfolded = unfoldedAfter(hour);
    let last: MinuteRow | undefined;
    for (const row of minutes) {
      for (const [, series, sum] of sumsIn(row.sums)) addTo(this.totals, series, sum);
      for (const [isolate, number] of isolatesIn(row.isolates)) remember(this.isolates, isolate, number);
      this.heardAtMs = heardIn(row) ?? this.heardAtMs;
      last = row;
    }
    this.#newest = last && countsIn(last.arrived, last);
    for (const series of this.totals.keys()) {
      this.#names.bounded(pathOf(series), false);
      this.#text += series.length + TEXT_OF_SUM;
    }
  }

  /**
   * The minute in which a batch arrives now. Even if the clock was set back, it is not in an hour that has its row
   * already, nor before the minute of the last batch.
   */
  minuteAt(nowMs: number): number {
    return Math.max(Math.floor(nowMs / 60_000), this.#newest?.arrived ?? 0, this.#unfolded);
  }

  /** Whether this batch, or a later one of its isolate, has been added. */
  has({ isolate, number }: Batch): boolean {
    return (this.isolates.get(isolate) ?? 0) >= number;
  }

  /** @returns what the row that is to be written counts. */
  add({ isolate, number, minutes }: Batch, nowMs: number): StoredCounts {
    const arrived = this.minuteAt(nowMs);
    const counts = this.#newest?.arrived === arrived ? this.#newest : noCounts(arrived);
    for (const { minute, sums, top, where = {} } of minutes) {
      // An isolate's clock may be wrong, and a batch may be late.
      const at = Math.min(Math.max(minute, arrived - DAY), arrived);
      for (const [series, sum] of Object.entries(sums)) {
        const name = this.#named(series);
        addSum(counts, at, name, sum);
        addTo(this.totals, name, sum);
      }
      addClients(counts.top, top);
      addWhere(counts.where, where, counts.top);
    }
    remember(this.isolates, isolate, number);
    remember(counts.isolates, isolate, number);
    this.heardAtMs = nowMs;
    this.#newest = counts;
    return counts;
  }

  /** The series that is counted for this one. */
  #named(series: string): string {
    if (this.totals.has(series)) return series;
    const path = this.#names.bounded(pathOf(series), this.totals.size >= MAX_SERIES);
    const fits = this.#text + series.length + TEXT_OF_SUM <= MAX_TEXT;
    const name = (fits ? path : withOwnWords(path)).join("\t");
    if (!this.totals.has(name)) this.#text += name.length + TEXT_OF_SUM;
    return name;
  }
}

/** The first minute that is in no hour's row. */
export function unfoldedAfter(newest: HourHead | undefined): number {
  return newest ? newest.arrived + HOUR : 0;
}

function heardIn({ heard_at }: RowHead): number | undefined {
  return isCount(heard_at) ? heard_at : undefined;
}

const pathOf = (series: string): Path => series.split("\t");
