// Makes one-token edits of lua/, and builds the script with one of them.

import { joinLua, readLua } from "../../../scripts/build/build-lua.ts";
import type { ParityName } from "./parity-case.ts";

/** The edits of one file of lua/, and the parity cases that must notice them. */
export interface MutatedFile {
  readonly file: string;
  readonly cases: readonly ParityName[];
  readonly edits: readonly Edit[];
}

/** Text that occurs once in the file, and its replacement. */
export type Edit = readonly [before: string, after: string];

const files = readLua();

/** The whole script with the edit. Throws unless the text to replace occurs exactly once. */
export function mutate(file: string, [before, after]: Edit): string {
  const parts = files[file]!.split(before);
  if (parts.length !== 2) throw new Error(`lua/${file}.lua has ${parts.length - 1} times: ${before}`);
  return joinLua("take", { ...files, [file]: parts.join(after) });
}

/** Whether an edit changes, adds or removes exactly one token. */
export function isOneToken([before, after]: Edit): boolean {
  const [from = [], to = []] = [before, after].map((text) => text.match(/\w+|[~<>=]=|\S/g) ?? []);
  let start = 0;
  while (start < from.length && from[start] === to[start]) start++;
  let end = 0;
  const shorter = Math.min(from.length, to.length);
  while (end < shorter - start && from.at(-1 - end) === to.at(-1 - end)) end++;
  return Math.max(from.length, to.length) - start - end === 1;
}
