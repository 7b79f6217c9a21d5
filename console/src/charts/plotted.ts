/** What a chart over time shows. */

import type { Grid, Span } from "../data/sums.ts";
import type { Meaning } from "./meaning.ts";

interface Stack {
  readonly is: Meaning;
  readonly name: string;
  /** By step of the grid. Null: nothing was counted there. */
  readonly counts: readonly (number | null)[];
}

export interface Plotted {
  readonly grid: Grid;
  readonly span: Span;
  /** From bottom to top. */
  readonly stacks: readonly Stack[];
  /** From here on counts are still to come. */
  readonly partialFromMs: number;
  readonly marks: readonly { readonly atMs: number; readonly text: string }[];
  /** Steps in which requests were decided without their store. */
  readonly outages: readonly number[];
  readonly perSecond: (step: number, count: number) => number;
}
