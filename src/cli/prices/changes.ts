/** What differs between two tables of prices, for people and programs. */

import type { Prices } from "./table.ts";

export interface Changes {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly Changed[];
}

interface Changed {
  readonly model: string;
  /** As in a table: `above.200000.input`. */
  readonly column: string;
  /** Null: there is none. */
  readonly before: number | null;
  readonly after: number | null;
}

export function changesBetween(before: Prices, after: Prices): Changes {
  const missingIn = (prices: Prices) => (model: string) => !Object.hasOwn(prices, model);
  const kept = Object.keys(after).filter((model) => Object.hasOwn(before, model));
  return {
    added: Object.keys(after).filter(missingIn(before)),
    removed: Object.keys(before).filter(missingIn(after)),
    changed: kept.flatMap((model) => {
      const [was, is] = [columnsOf(before[model]), columnsOf(after[model])];
      return [...new Set([...was.keys(), ...is.keys()])]
        .filter((column) => was.get(column) !== is.get(column))
        .map((column) => ({ model, column, before: was.get(column) ?? null, after: is.get(column) ?? null }));
    }),
  };
}

function columnsOf(value: unknown, path: readonly string[] = []): Map<string, number> {
  if (typeof value === "number") return new Map([[path.join("."), value]]);
  const parts = Object.entries(value ?? {}).map(([name, one]) => columnsOf(one, [...path, name]));
  return new Map(parts.flatMap((part) => [...part]));
}

/** One line for each change, without line breaks. */
export function describeChanges({ added, removed, changed }: Changes): string[] {
  const shown = (price: number | null) => price ?? "none";
  return [
    ...added.map((model) => `added ${model}`),
    ...removed.map((model) => `removed ${model}`),
    ...changed.map(({ model, column, before, after }) => `${model}: ${column} ${shown(before)} -> ${shown(after)}`),
  ];
}
