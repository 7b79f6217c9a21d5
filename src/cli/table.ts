/** Small tables for people. */

import { printable } from "./printable.ts";

/**
 * Columns as wide as their widest cell, two spaces apart.
 *
 * @param right the indices of columns that end at the right: numbers.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly unknown[])[],
  right: readonly number[] = [],
): string {
  const lines = [headings, ...rows.map((row) => row.map(text))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const pad = (cell: string, column: number) =>
    right.includes(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!);
  return lines.map((line) => `${line.map(pad).join("  ").trimEnd()}\n`).join("");
}

function text(value: unknown): string {
  if (value === undefined || value === null) return "–";
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}
