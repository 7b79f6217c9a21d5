/** The report for a terminal. */

import { line } from "../../printable.ts";
import { table } from "../../table.ts";
import type { Summary } from "../engine/replay.ts";
import { blocksOf } from "./report.ts";

export function textReport(summary: Summary): string {
  const parts = blocksOf(summary).map((block) => {
    if (typeof block === "string") return line(block);
    if ("heading" in block) return `\n${line(block.heading)}`;
    // It makes its cells printable itself.
    return `\n${table(block.headings, block.rows, block.numbers)}`;
  });
  return parts.join("").replace(/\n(not replayed|note): /, "\n\n$1: ");
}
