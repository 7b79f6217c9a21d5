/** Writes docs/benchmarks.md from the results that each part kept when it last ran. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { peerVersions } from "./machine.ts";
import { type Section, table } from "./part.ts";

const DIRECTORY = new URL("../../docs/benchmarks/", import.meta.url);
const PAGE = new URL("../../docs/benchmarks.md", import.meta.url);
const PROSE = new URL("../page/", import.meta.url);

interface Kept {
  readonly machine: string;
  readonly section: Section;
}

const fileOf = (part: string) => new URL(`${part}.json`, DIRECTORY);

export function keep(part: string, section: Section, machine: string): void {
  mkdirSync(DIRECTORY, { recursive: true });
  for (const [name, svg] of Object.entries(section.charts)) writeFileSync(new URL(name, DIRECTORY), svg);
  const charts = Object.fromEntries(Object.keys(section.charts).map((name) => [name, ""]));
  writeFileSync(fileOf(part), `${JSON.stringify({ machine, section: { ...section, charts } }, undefined, 2)}\n`);
}

/** What the part measured when it last ran in full. */
export function kept(part: string): Kept | undefined {
  return existsSync(fileOf(part)) ? JSON.parse(readFileSync(fileOf(part), "utf8")) : undefined;
}

/** Prose lines end by column 120. Tables, headings, pictures and tags keep their lines. */
const broken = (markdown: string): string =>
  markdown.replace(/^(?![|#!<]).{121,}$/gm, (line) => line.replace(/(.{1,120})(?: |$)/g, "$1\n").trimEnd());

/** @returns where the page is. */
export function writePage(parts: readonly string[]): string {
  const prose = (name: string) => readFileSync(new URL(`${name}.md`, PROSE), "utf8").trim();
  const all = parts.flatMap((part) => {
    const found = kept(part);
    return found ? [{ part, ...found }] : [];
  });
  const targets = all.flatMap(({ section }) => section.targets);
  const sections = all.flatMap(({ part, machine, section }) => [
    prose(part),
    ...Object.keys(section.charts).map((name) => `![](benchmarks/${name})`),
    broken(section.markdown),
    `${broken(`Measured ${machine}.`)}\n\`npm run bench -- ${part}\``,
  ]);
  const rows = targets.map((one) => [one.what, one.bound, one.measured, one.holds ? "yes" : "**no**"]);
  const text = [
    prose("start"),
    "## Targets",
    table(["", "target", "measured", "holds"], rows),
    broken(`Peers: ${peerVersions()}.`),
    ...sections,
    prose("end"),
  ].join("\n\n");
  writeFileSync(PAGE, `${text}\n`);
  return "docs/benchmarks.md";
}
