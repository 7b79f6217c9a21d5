/** What the part `features` cannot tell from nothing. */

import type { Figure, Section, Table } from "./part.ts";
import { number } from "./show.ts";

/**
 * A request that does not use a feature costs about as much as without it, so the spread of these cells over the
 * repetitions is noise. The widest one says which differences of this table mean nothing.
 */
export function noiseOf(runs: readonly Section[]): string {
  const widest = (column: string) =>
    Math.max(
      ...(runs[0]!.blocks[0] as Table).rows.map((_, r) => {
        const values = runs.flatMap(({ blocks }) => {
          const { head, rows } = blocks[0] as Table;
          return (rows[r]![head.indexOf(column)] as Figure).value ?? [];
        });
        return values.length === 0 ? 0 : Math.max(...values) - Math.min(...values);
      }),
    );
  return `A request that does not use a feature should cost hardly more than without the feature. Yet repetitions of one such cell differ by up to ${number(widest("µs, not used"))} µs and by a ratio of up to ${number(widest("ratio, not used"))}: smaller differences mean nothing, in the last two columns too.`;
}
