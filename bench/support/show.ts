/**
 * Shows the repetitions of a part together: the median of each figure, and beside it the smallest and the largest one
 * if the repetitions do not agree.
 */

import type { Chart } from "./chart.ts";
import type { Block, Figure, Format, Section, Table, Text } from "./part.ts";
import { median } from "./stats.ts";

/** Repetitions that differ by more than this part of their median do not agree. */
const AGREEMENT = 0.1;
/** A table with more columns than this shows a spread as a percentage, because ranges would make it too wide. */
const RANGES_UP_TO = 6;

/** Three significant digits, with at most two after the point. */
export function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  const digits = value !== 0 && Math.abs(value) < 0.1 ? 3 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return value.toFixed(digits);
}

const count = (value: number) => (Number.isInteger(value) ? String(value) : number(value));
const FORMATS: Readonly<Record<Format, (value: number) => string>> = {
  percent: (part) => `${(100 * part).toFixed(part > 0 && part < 0.1 ? 1 : 0)} %`,
  dollars: (value) => `$${value.toFixed(2)}`,
  count,
  signed: (value) => `${value > 0 ? "+" : ""}${count(value)}`,
};

interface How {
  /** Whether a spread takes little room: `±3 %` instead of `(1.18 to 1.22)`. */
  readonly wide?: boolean;
  /** Figures get a third digit after the point if one of them would read like this bound. */
  readonly bound?: number;
}

function showFigures(figures: readonly Figure[], { wide, bound }: How): string {
  const [{ as, boldAbove = Number.POSITIVE_INFINITY }] = figures as [Figure];
  const values = figures.flatMap(({ value }) => (value === null ? [] : [value]));
  const plain = as === undefined ? number : FORMATS[as];
  const isNear = values.some((value) => value !== bound && bound !== undefined && plain(value) === plain(bound));
  const format = isNear ? (value: number) => value.toFixed(3) : plain;
  if (values.length === 0) return "–";
  const middle = median(values);
  const shown = middle > boldAbove ? `**${format(middle)}**` : format(middle);
  const ends = [Math.min(...values), Math.max(...values)] as const;
  // One repetition that measured a value does not agree with those that found nothing to measure.
  const missing = values.length < figures.length ? ` (in ${values.length} of ${figures.length})` : "";
  const agree = ends[1] - ends[0] <= AGREEMENT * Math.abs(middle);
  if (agree || format(ends[0]) === format(ends[1])) return `${shown}${missing}`;
  const away = Math.max(ends[1] - middle, middle - ends[0]) / middle;
  // Around 0 a percentage says nothing, and a percentage of a percentage can be misread.
  const isShort = wide && as !== "percent" && middle > 0 && away < 1;
  const spread = isShort ? `±${(100 * away).toFixed(0)} %` : `(${ends.map(format).join(" to ")})`;
  return `${shown} ${spread}${missing}`;
}

const partsOf = (text: Text) => (Array.isArray(text) ? text : [text]) as readonly (string | Figure)[];

/** @param texts the same text of every repetition. */
export function showText(texts: readonly Text[], how: How = {}): string {
  const all = texts.map(partsOf);
  return all[0]!
    .map((first, i) => {
      const same = all.flatMap((parts) => (parts[i] === undefined ? [] : [parts[i]]));
      if (typeof first !== "string") return showFigures(same as readonly Figure[], how);
      return [...new Set(same)].join(" or ");
    })
    .join("");
}

const isTable = (block: Block): block is Table => typeof block === "object" && "rows" in block;

/** @param blocks the same block of every repetition. */
function showBlock(blocks: readonly Block[]): string {
  if (!isTable(blocks[0]!)) return showText(blocks as readonly Text[]);
  const [{ head, rows }] = blocks as readonly [Table];
  const wide = head.length > RANGES_UP_TO;
  const shown = rows.map((row, r) =>
    row.map((_, c) =>
      showText(
        (blocks as readonly Table[]).map((one) => one.rows[r]![c]!),
        { wide },
      ),
    ),
  );
  return markdownTable(head, shown);
}

export const showBlocks = (runs: readonly Section[]): string =>
  runs[0]!.blocks.map((_, i) => showBlock(runs.map(({ blocks }) => blocks[i]!))).join("\n\n");

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** The targets of a part as rows: what, bound, measured, holds. A target holds if it does so in most repetitions. */
export function targetRows(runs: readonly Section[]): string[][] {
  return runs[0]!.targets.map(({ what, bound }, i) => {
    const same = runs.map(({ targets }) => targets[i]!);
    const held = same.filter(({ holds }) => holds).length;
    const verdict = held > runs.length / 2 ? "yes" : "**no**";
    const measured = showText(
      same.map((one) => one.measured),
      { bound: Number(/[\d.]+$/.exec(bound)?.[0]) },
    );
    return [what, bound, measured, `${verdict}, in ${held} of ${runs.length}`];
  });
}

/** One chart of the medians. A bar's smallest and largest values become its whiskers. */
export function chartOf(charts: readonly Chart[]): Chart {
  const [first] = charts as [Chart];
  const rows = first.rows.map(({ name }, i) => {
    const values = charts.map((one) => one.rows[i]!.value);
    return { name, value: median(values), from: Math.min(...values), to: Math.max(...values) };
  });
  return { ...first, rows };
}

/**
 * What the part `features` cannot tell from nothing. A request that does not use a feature costs about as much as
 * without it, so the spread of these cells over the repetitions is noise. The widest one says which differences of this
 * table mean nothing.
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
  return `Repetitions of one cell "not used" differ by up to ${number(widest("µs, not used"))} µs and by a ratio of up to ${number(widest("ratio, not used"))}: smaller differences mean nothing.`;
}
