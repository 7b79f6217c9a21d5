/** What a part of the benchmark returns, and the formats that all parts share. */

/** A bound that the project set itself. `bound` and `measured` are texts for the page. */
export interface Target {
  readonly what: string;
  readonly bound: string;
  readonly measured: string;
  readonly holds: boolean;
}

export interface Section {
  /** Markdown for below the part's heading. */
  readonly markdown: string;
  readonly targets: readonly Target[];
  /** Maps a file name in docs/benchmarks to its SVG. */
  readonly charts: Readonly<Record<string, string>>;
  /** Figures that other parts compute with. */
  readonly figures: Readonly<Record<string, number>>;
}

export interface Run {
  readonly quick: boolean;
  /** Shows the progress of the part on one line. */
  progress(what: string): void;
  /** An argument after the parts' names, for example `--peer X`. */
  option(name: string): string | undefined;
  /** The figures of a part that ran before, in this run or an earlier one. */
  figures(part: string): Readonly<Record<string, number>> | undefined;
}

export type Part = (run: Run) => Promise<Section>;

export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** Three significant digits, with at most two after the point. */
export function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  const digits = value !== 0 && Math.abs(value) < 0.1 ? 3 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return value.toFixed(digits);
}
