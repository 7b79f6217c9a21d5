// Reads Markdown for the tests of documents.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The guides: each of their blocks is run, or is the output of a block that was run. */
export const GUIDES = [
  ...["README.md", "CONTRIBUTING.md", "docs/configuration.md", "docs/deploy.md"],
  "docs/library.md",
];

const pagesOf = (folder: string) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .map((name) => `${folder}/${name}`);

/** test/recipes runs the blocks of the first pages and of the recipes, and those of the first screen of README.md. */
export const FIRST_PAGES = pagesOf("docs/start");
export const RECIPES = pagesOf("docs/recipes");

export interface Block {
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of a page, in order, without the indentation of a surrounding list. */
export function blocksOf(page: string, ...languages: string[]): Block[] {
  const blocks = [...read(page).matchAll(/^( *)```(.*)\n([\s\S]*?)^\1```$/gm)].map(
    ([, indent = "", language, text]) => ({
      language: language!,
      text: text!.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  );
  return languages.length === 0 ? blocks : blocks.filter(({ language }) => languages.includes(language));
}

/** The commands of a shell block. Continued lines are joined; comments are dropped. */
export function commandsOf({ text }: Block): string[] {
  const lines = text.replaceAll(/\\\n\s*/g, "").split("\n");
  return lines.map((line) => line.replace(/(?:^|\s+)# .*/, "")).filter((line) => line !== "");
}

/**
 * The rows of the first table in `text` whose first heading is `heading`. Each row maps a heading to its cell, without
 * backticks, bold, and the spread of a figure.
 */
export function tableIn(text: string, heading: string): Record<string, string>[] {
  const lines = text.split("\n");
  const begins = heading === "" ? /^\| +\|/ : undefined;
  const start = lines.findIndex((line) => begins?.test(line) ?? line.startsWith(`| ${heading} |`));
  const length = [...lines.slice(start), ""].findIndex((line) => !line.startsWith("|"));
  const [headings = [], , ...rows] = lines.slice(start, start + length).map(cellsOf);
  return rows.map((row) => Object.fromEntries(row.map((cell, i) => [headings[i]!, cell])));
}

/**
 * Of the repetitions of a benchmark: ` (1.18 to 1.22)` or ` ±3 %`, and how many measured a value.
 * bench/support/show.ts writes it.
 */
export const SPREAD = /( (\(\S+( %)? to \S+( %)?\)|±\d+ %|\(in \d+ of \d+\)))+$/;

function cellsOf(line: string): string[] {
  const cells = line.split("|").slice(1, -1);
  return cells.map((cell) =>
    cell
      .trim()
      .replace(SPREAD, "")
      .replace(/^(`|\*\*)(.*)\1$/, "$2"),
  );
}

/** The text below a heading, up to the next heading. */
export function sectionOf(page: string, heading: string): string {
  const text = read(page);
  const start = text.search(new RegExp(`^#+ ${heading.replaceAll(/[.*+?^$()|[\]{}]/g, "\\$&")}$`, "m"));
  if (start < 0) throw new Error(`expected the heading "${heading}" in ${page}`);
  return text.slice(start).split(/\n(?=#+ )/)[0]!;
}

export const MEASURED = "bench/results/benchmarks.md";

/** One cell of a table under a heading of bench/results/benchmarks.md. */
export function measured(section: string, row: string, column: string, heading = ""): string {
  const text = sectionOf(MEASURED, section);
  const found = tableIn(text, heading).find((cells) => cells[heading] === row);
  if (found?.[column] === undefined) throw new Error(`expected "${row}" and "${column}" under "${section}"`);
  return found[column];
}
