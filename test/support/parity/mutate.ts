// Makes one-token edits of lua/, and builds the script with one of them.

import { joinLua, readLua } from "../../../scripts/build/build-lua.ts";
import type { ParityName } from "./parity-case.ts";

/** The edits of one file of lua/, and the parity cases that must notice them. */
export interface MutatedFile {
  readonly file: string;
  readonly cases: readonly ParityName[];
  /** Texts that occur once in the file, with marks: «a→b→c» is two edits, a becomes b, and a becomes c. */
  readonly lines: readonly string[];
}

export interface Mutant {
  /** The text with the one mark. */
  readonly title: string;
  /** The whole script with the edit. */
  readonly script: string;
}

const MARK = /«([^→»]*)→([^»]*)»/g;
const TOKEN = /^(?:'[^']*'|\w+|[~<>=]=|\S)?$/;
const files = readLua();

/** Throws unless each text occurs exactly once, and each edit changes, adds or removes one token. */
export function mutantsOf({ file, lines }: MutatedFile): Mutant[] {
  return lines.flatMap((line) => {
    const parts = files[file]!.split(line.replace(MARK, "$1"));
    if (parts.length !== 2) throw new Error(`lua/${file}.lua has ${parts.length - 1} times: ${line}`);
    const edits = [...line.matchAll(MARK)].flatMap(({ index, 1: from, 2: to }) => {
      return to!.split("→").map((to) => ({ index, from: from!, to }));
    });
    return edits.map(({ index, from, to }) => {
      if (from === to || ![from, to.trim()].every((token) => TOKEN.test(token))) throw new Error(`two tokens: ${line}`);
      const only = (text: string) => line.replace(MARK, (_, other, __, at) => (at === index ? text : other));
      const script = joinLua("take", { ...files, [file]: parts.join(only(to)) });
      return { title: only(`«${from}→${to}»`), script };
    });
  });
}
