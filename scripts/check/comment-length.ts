/** No line with a comment may be longer than 120 columns. The formatter takes care of code lines. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const COLUMNS = 120;
const FOLDERS = ["src", "lua", "scripts", "test", "bench", "examples", "console"];

/** By file extension: what begins a comment (at the line's start or after a space), and opens and closes a block. */
const SLASHES = { line: /(?:^|\s)\/\//, open: /^\s*\{?\/\*/, close: "*/" };
const DASHES = { line: /(?:^|\s)--/, open: /^\s*--\[\[/, close: "]]" };
const HASH = { line: /(?:^|\s)#/, open: undefined, close: "" };
const COMMENTS: Readonly<Record<string, typeof SLASHES | typeof HASH>> = {
  ...{ ts: SLASHES, tsx: SLASHES, mjs: SLASHES, lua: DASHES, sh: HASH },
};

/** A line that holds only a URL cannot be broken. */
const URL_ALONE = /^\s*(?:\/\/|\/\*\*?|\*|--|#)?\s*(?:@see\s+)?[<(]?https?:\/\/\S+(?:\s*\*\/)?$/;

/**
 * Returns the comment lines that are too long: file, line and length. @param root the folder that holds src/, lua/ and
 * others.
 */
export function longCommentLines(root: string): string[] {
  return FOLDERS.flatMap((folder) => filesIn(root, folder)).flatMap((file) => {
    const comments = COMMENTS[file.split(".").at(-1)!];
    if (!comments) return [];
    const lines = readFileSync(join(root, file), "utf8").split("\n");
    let inBlock = false;
    return lines.flatMap((line, i) => {
      if (!inBlock) inBlock = comments.open?.test(line) ?? false;
      const isComment = inBlock || comments.line.test(line) || line.includes(" /*");
      if (inBlock && line.includes(comments.close)) inBlock = false;
      const columns = [...line].length;
      if (!isComment || columns <= COLUMNS || URL_ALONE.test(line)) return [];
      return [`${file}:${i + 1}: ${columns} columns, a comment ends by column ${COLUMNS}`];
    });
  });
}

function filesIn(root: string, folder: string): string[] {
  const all = readdirSync(root, { encoding: "utf8" }).includes(folder)
    ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    : [];
  return all
    .filter((file) => !file.split("/").includes("node_modules"))
    .map((file) => join(folder, file))
    .sort();
}

if (import.meta.main) {
  const long = longCommentLines(new URL("../..", import.meta.url).pathname);
  for (const line of long) console.error(line);
  console.log(long.length === 0 ? "no comment is too long" : `${long.length} lines of comments are too long`);
  process.exitCode = long.length === 0 ? 0 : 1;
}
