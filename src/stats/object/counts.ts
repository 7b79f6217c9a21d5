/** What a row counts: sums by minute and series, and the clients with most refusals. */

import { clientsIn, sumsIn } from "./row-text.ts";
import { addClients, listsOf, type Top } from "./top.ts";

/** From so many series on, a new one has no value that a caller has chosen. A row of twice as many is below 2 MB. */
export const MAX_SERIES = 2_000;

export type Sums = Map<string, number>;

/** The row of the minute, or of the hour, in which its batches arrived. */
export interface Counts {
  /** Minutes since the epoch. An hour is named by its first minute. */
  readonly arrived: number;
  /** By the minute, or hour, in which it happened: `arrived`, or earlier if the batch was late. */
  readonly sums: Map<number, Sums>;
  readonly top: Top;
}

export interface CountsText {
  readonly sums: string;
  readonly top: string;
}

export function noCounts(arrived: number): Counts {
  return { arrived, sums: new Map(), top: new Map() };
}

/** Late counts of many minutes would make a row too large: beyond `MAX_SERIES`, they count in the minute of arrival. */
export function addSum({ arrived, sums }: Counts, at: number, series: string, sum: number): void {
  const isFull = at !== arrived && !sums.get(at)?.has(series) && sizeOf(sums) >= MAX_SERIES;
  addTo(sumsAt(sums, isFull ? arrived : at), series, sum);
}

/** @param atOf the minute or hour under which the counts of a minute are kept. */
export function addCounts(into: Counts, from: CountsText, atOf: (minute: number) => number): void {
  for (const [minute, sums] of sumsIn(from.sums)) {
    for (const [series, sum] of Object.entries(sums)) addSum(into, atOf(minute), series, sum);
  }
  addClients(into.top, clientsIn(from.top));
}

export function addTo(sums: Sums, series: string, sum: number): void {
  sums.set(series, (sums.get(series) ?? 0) + sum);
}

export function textOf({ sums, top }: Counts): CountsText {
  const byMinute = [...sums].map(([minute, sums]) => [minute, Object.fromEntries(sums)]);
  return { sums: JSON.stringify(Object.fromEntries(byMinute)), top: JSON.stringify(listsOf(top)) };
}

export function countsIn(arrived: number, text: CountsText): Counts {
  const counts = noCounts(arrived);
  addCounts(counts, text, (minute) => minute);
  return counts;
}

function sumsAt(sums: Map<number, Sums>, at: number): Sums {
  const found = sums.get(at) ?? new Map<string, number>();
  sums.set(at, found);
  return found;
}

function sizeOf(sums: Map<number, Sums>): number {
  let size = 0;
  for (const one of sums.values()) size += one.size;
  return size;
}
