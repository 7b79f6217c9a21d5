/**
 * What others have written must not steer the terminal, nor look like a line of ours: names in a file, paths in a log,
 * answers of a gateway. A line break in them could begin a line that a CI service takes for a command (`::error::`).
 */

import type { Io } from "./io.ts";

const STEERING = /[\p{Cc}\p{Bidi_Control}]/gu;

/** Text within a line: characters that control the terminal or turn text around become `?`, line breaks too. */
export function printable(text: string): string {
  return text.replace(STEERING, "?");
}

/** One line of output, whatever the text holds. */
export function line(text: string): string {
  return `${printable(text)}\n`;
}

/** A value as JSON. In JSON every character has a spelling that steers nothing. */
export function jsonText(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `${JSON.stringify(value, null, 2).replace(STEERING, (one) => (one === "\n" ? one : escaped(one)))}\n`;
}

/**
 * A folder as a word of a command: in double quotes, which every shell understands, unless a POSIX shell would read
 * more into them. A hyphen would begin an option.
 */
export function quoted(folder: string): string {
  const word = folder.startsWith("-") ? `./${folder}` : folder;
  if (/^[\w@%+=:,./\\-]+$/.test(word)) return word;
  return /["$`\\!]/.test(word) ? `'${word.replaceAll("'", "'\\''")}'` : `"${word}"`;
}

/** The same input and output; nothing that is printed steers the terminal. Line breaks stay. */
export function cleaned(io: Io): Io {
  const clean = (text: string) => text.replace(STEERING, (one) => (one === "\n" ? one : "?"));
  // A copy would read `stdin`, which keeps the process waiting for it.
  return Object.assign(Object.create(io) as Io, {
    out: (text: string) => io.out(clean(text)),
    err: (text: string) => io.err(clean(text)),
    draw: (text: string) => io.err(text),
  });
}

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
