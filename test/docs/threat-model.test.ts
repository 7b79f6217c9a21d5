// Every protection that docs/threat-model.md claims names a test, and that test exists.

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const PAGE = readFileSync(new URL("docs/threat-model.md", ROOT), "utf8");

/** The cells of every row of every table, without the heading rows. */
const rows = PAGE.split("\n")
  .filter((line) => line.startsWith("| ") && !/\| Test \|$/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map((cells) => cells.slice(1, -1));

it("has rows", () => {
  expect(rows.length).toBeGreaterThan(20);
});

describe("the test is there of", () => {
  it.each(rows)("%s", (_, protection, reference = "") => {
    expect(protection).not.toBe("");
    const [, file = "", title = ""] = /^`(test\/[\w./-]+\.test\.ts)`: (.{10,})$/.exec(reference) ?? [];
    expect(existsSync(new URL(file, ROOT)), `${reference} names a file`).toBe(true);
    expect(titlesOf(readFileSync(new URL(file, ROOT), "utf8"))).toContainEqual(expect.stringContaining(title));
  });
});

/** Texts in double quotes: titles of tests, and of rows in their tables. */
function titlesOf(source: string): string[] {
  return [...source.matchAll(/"((?:[^"\\\n]|\\.)+)"/g)].map(([, title]) => title!);
}
