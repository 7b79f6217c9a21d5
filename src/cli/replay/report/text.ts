/** The report for a terminal. */

import { printable } from "../../printable.ts";
import { table } from "../../table.ts";
import type { Summary } from "../engine/replay.ts";
import { type Block, blocksOf, logLines } from "./report.ts";

const COLUMNS = 100;

export function textReport(summary: Summary): string {
  let text = logLines(summary.log)
    .map((line) => `${line}\n`)
    .join("");
  let before: Block = "";
  for (const block of blocksOf(summary)) {
    // Paragraphs that follow each other stand together.
    if (typeof block !== "string" || typeof before !== "string") text += "\n";
    if (typeof block === "string") text += wrapped(printable(block));
    else if ("heading" in block) text += `${printable(block.heading)}\n`;
    // It makes its cells printable itself.
    else text += table(block.headings, block.rows, block.numbers);
    before = block;
  }
  return text;
}

/** Further lines are indented. A word that is longer than a line stays whole. */
function wrapped(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && `${last} ${word}`.length <= COLUMNS) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : `  ${word}`);
  }
  return `${lines.join("\n")}\n`;
}
