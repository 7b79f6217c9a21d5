// Lines of comments end by column 120, as scripts/check/comment-length.ts reads them.

import { expect, it } from "vitest";
import { longCommentLines } from "../../scripts/check/comment-length.ts";
import { folderWith } from "../support/folder.ts";

/** What the check says about a repository with this one file. */
const longLinesIn = (file: string, text: string) => longCommentLines(folderWith({ [file]: text }));

const fill = (start: string, columns: number, end = "") =>
  start + "x".repeat(columns - start.length - end.length) + end;

it.each([
  ["a line comment", "src/a.ts", "// "],
  ["a comment behind code", "test/a.ts", "const a = 1; // "],
  ["a block's first line", "scripts/a.ts", "/** "],
  ["a comment in TSX", "src/a.tsx", "  // "],
  ["a comment in a module of JavaScript", "bench/a.mjs", "// "],
  ["a comment in Lua", "lua/a.lua", "-- "],
  ["a comment in a shell script", "examples/one/a.sh", "# "],
])("finds %s of 121 columns, and none of 120", (_what, file, start) => {
  expect(longLinesIn(file, `${fill(start, 121)}\n`)).toEqual([`${file}:1: 121 columns, a comment ends by column 120`]);
  expect(longLinesIn(file, `${fill(start, 120)}\n`)).toEqual([]);
});

it("finds a line within a block, and no code behind the block", () => {
  const text = `/*\n${fill("  ", 130)}\n */\n${fill('const a = "', 130, '";')}\n`;
  expect(longLinesIn("bench/a.ts", text)).toEqual(["bench/a.ts:2: 130 columns, a comment ends by column 120"]);
});

it("leaves a URL that stands alone, and finds one that another word shares a line with", () => {
  const url = fill("https://example.com/", 125);
  expect(longLinesIn("src/a.ts", `// ${url}\n/**\n * @see ${url}\n */\n`)).toEqual([]);
  expect(longLinesIn("src/a.ts", `// See ${url}\n`)).toHaveLength(1);
});

it("reads no packages, and no file of another kind", () => {
  const text = `${fill("// ", 130)}\n`;
  expect(longLinesIn("bench/node_modules/a/a.ts", text)).toEqual([]);
  expect(longLinesIn("src/a.md", text)).toEqual([]);
});
