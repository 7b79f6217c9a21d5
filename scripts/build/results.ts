/** Tables that a program writes into a page of bench/results. */

import { readFileSync, writeFileSync } from "node:fs";

const RESULTS = new URL("../../bench/results/", import.meta.url);

export function table(headings: readonly string[], lines: readonly (readonly (string | number)[])[]): string {
  const [head = "", ...rows] = [headings, ...lines].map((cells) => `| ${cells.join(" | ")} |`);
  return [head, `|${"---|".repeat(headings.length)}`, ...rows].join("\n");
}

/**
 * The text of a page with one of its tables anew.
 *
 * @param command what writes the table, as the comments around it say. @throws {Error} if the page has no place for it.
 */
export function withTable(page: string, name: string, command: string, markdown: string): string {
  const [begin, end] = [`<!-- ${name}: npm run ${command} -->`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`expected ${begin} and ${end}`);
  return `${page.slice(0, from)}${begin}\n\n${markdown}\n\n${page.slice(to)}`;
}

/** Writes one table of a page of bench/results. @param name of the table. @param command what `npm run` calls it. */
export function writeResult(page: string, name: string, command: string, markdown: string): void {
  const file = new URL(page, RESULTS);
  writeFileSync(file, withTable(readFileSync(file, "utf8"), name, command, markdown));
}
