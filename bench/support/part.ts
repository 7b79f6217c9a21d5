/** What a part of the benchmark returns. It returns values, not text: the page shows several repetitions together. */

import type { Chart } from "./chart.ts";

/** A measured value. */
export interface Figure {
  /** null: nothing was measured (JSON has no NaN). */
  readonly value: number | null;
  /** How it is shown. Absent: three significant digits. */
  readonly as?: Format;
  /** It is shown in bold letters above this value. */
  readonly boldAbove?: number;
}

/** `percent` shows a part of one, `count` an integer as it is, `signed` a count with a plus sign. */
export type Format = "percent" | "dollars" | "count" | "signed";

export const figure = (value: number, as?: Format): Figure => ({
  value: Number.isNaN(value) ? null : Number(value.toPrecision(6)),
  ...(as && { as }),
});

/** Text with figures. */
export type Text = string | Figure | readonly (string | Figure)[];

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly Text[])[];
}

export const table = (head: readonly string[], rows: readonly (readonly Text[])[]): Table => ({ head, rows });

/** A paragraph, a heading, or a table. */
export type Block = Text | Table;

/** A bound that the project set itself. */
export interface Target {
  readonly what: string;
  readonly bound: string;
  readonly measured: Text;
  readonly holds: boolean;
}

/** The result of one repetition. */
export interface Section {
  /** What the page shows below the part's heading. */
  readonly blocks: readonly Block[];
  readonly targets: readonly Target[];
  /** Charts by the names of their files in bench/results. */
  readonly charts: Readonly<Record<string, Chart>>;
  /** Figures that other parts and the page's summary compute with. */
  readonly figures: Readonly<Record<string, number>>;
}

export interface Run {
  readonly quick: boolean;
  /** Shows the progress of the part on one line. */
  progress(what: string): void;
  /** An argument after the parts' names, for example `--peer X`. */
  option(name: "peer" | "trace"): string | undefined;
  /** The figures of another part in the same repetition, or of one that ran before. */
  figures(part: string): Readonly<Record<string, number>> | undefined;
}

export type Part = (run: Run) => Promise<Section>;

/**
 * The order in which so many things take turns in this round, by their indices. Each begins in turn, and every second
 * round goes backwards, so that nothing always follows the same neighbour.
 */
export function turnsOf(count: number, round: number): number[] {
  const order = Array.from({ length: count }, (_, i) => (i + Math.floor(round / 2)) % count);
  return round % 2 === 0 ? order : order.reverse();
}
