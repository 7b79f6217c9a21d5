/** Small tables for people. */

import { printable } from "./printable.ts";

/** Columns as wide as their widest cell, two spaces apart. */
export function table(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const lines = [headings, ...rows.map((row) => row.map(text))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function text(value: unknown): string {
  if (value === undefined || value === null) return "–";
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}
