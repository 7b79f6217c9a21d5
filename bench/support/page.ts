/** Writes bench/results/benchmarks.md from the results that each part kept when it last ran. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { draw } from "./chart.ts";
import { peerVersions } from "./machine.ts";
import type { Section } from "./part.ts";
import { chartOf, markdownTable, noiseOf, showBlocks, targetRows } from "./show.ts";
import { summaryOf, TOP_CHARTS } from "./summary.ts";

/** In the order of the page. */
export const PARTS = ["redis", "tcp", "latency", "truth", "size", "first", "features", "scale", "money"] as const;
export type PartName = (typeof PARTS)[number];

const DIRECTORY = new URL("../results/", import.meta.url);
const PROSE = new URL("../page/", import.meta.url);

interface Kept {
  readonly machine: string;
  /** One for each repetition. */
  readonly runs: readonly Section[];
}

const fileOf = (part: string) => new URL(`${part}.json`, DIRECTORY);

export function keep(part: string, result: Kept): void {
  // One line for each row of a table.
  const json = JSON.stringify(result, undefined, 1).replaceAll(/\n {7,}|\n {6}(?=[\]}])/g, "");
  writeFileSync(fileOf(part), `${json}\n`);
}

/** What the part measured when it last ran in full. */
export function kept(part: string): Kept | undefined {
  return existsSync(fileOf(part)) ? JSON.parse(readFileSync(fileOf(part), "utf8")) : undefined;
}

/** Prose lines end by column 120. Tables, headings, pictures and tags keep their lines. */
const broken = (markdown: string): string =>
  markdown.replace(/^(?![|#!<]).{121,}$/gm, (line) =>
    line.startsWith("- ")
      ? line.replace(/(.{1,118})(?: |$)/g, "$1\n  ").trimEnd()
      : line.replace(/(.{1,120})(?: |$)/g, "$1\n").trimEnd(),
  );

const picture = (name: string) => `![](${name})`;

/** What all parts were measured on, and what only this one was: its date, and whatever differs. */
const factsOf = ({ machine }: Kept) => machine.split(" · ");
const sharedFacts = (all: readonly Kept[]) =>
  factsOf(all[0]!).filter((fact) => all.every((one) => factsOf(one).includes(fact)));
function ownFacts(one: Kept, shared: readonly string[]): string {
  const [date, ...others] = factsOf(one).filter((fact) => !shared.includes(fact));
  const count = one.runs.length;
  return [`${date}, ${count} repetition${count === 1 ? "" : "s"}`, ...others].join(", ");
}

/** The files of bench/results/ that show what the parts kept: each by its name, with its content. */
export function pageOf(): ReadonlyMap<string, string> {
  const prose = (name: string) => readFileSync(new URL(`${name}.md`, PROSE), "utf8").trim();
  const all = PARTS.flatMap((part) => {
    const found = kept(part);
    return found ? [{ part, ...found }] : [];
  });
  const charts = all.flatMap(({ runs }) =>
    Object.keys(runs[0]!.charts).map((name) => {
      return [name, draw(chartOf(runs.map((run) => run.charts[name]!)))] as const;
    }),
  );
  const shared = sharedFacts(all);
  const sections = all.flatMap((one) => {
    const { part, runs } = one;
    return [
      prose(part),
      ...Object.keys(runs[0]!.charts)
        .filter((name) => !TOP_CHARTS.includes(name))
        .map(picture),
      broken(showBlocks(runs)),
      ...(part === "features" ? [broken(noiseOf(runs))] : []),
      broken(`Measured by \`npm run bench -- ${part}\` (${ownFacts(one, shared)}).`),
    ];
  });
  const text = [
    prose("title"),
    broken(summaryOf(new Map(all.map(({ part, runs }) => [part, runs])))),
    ...TOP_CHARTS.map(picture),
    prose("start"),
    broken(`All parts: ${shared.join(", ")}. Peers: ${peerVersions()}.`),
    "## Targets",
    markdownTable(
      ["", "target", "measured", "holds in"],
      all.flatMap(({ runs }) => targetRows(runs)),
    ),
    ...sections,
  ].join("\n\n");
  return new Map([["benchmarks.md", `${text}\n`], ...charts]);
}

export function writePage(): void {
  for (const [name, content] of pageOf()) writeFileSync(new URL(name, DIRECTORY), content);
  console.log("wrote bench/results/benchmarks.md");
}
