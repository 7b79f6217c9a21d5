// Every protection that docs/threat-model.md claims has a test, and every test of the list proves one of them.

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ALSO, PROOFS } from "./proofs.ts";

const ROOT = new URL("../../", import.meta.url);
const ENDINGS = [".test.ts", ".long.test.ts", ".ts"];
const PAGE = readFileSync(new URL("docs/threat-model.md", ROOT), "utf8");

/** The cells of every row of every table, without the heading rows. */
const rows = PAGE.split("\n")
  .filter((line) => line.startsWith("| ") && !/\| What happens \|$/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map((cells) => cells.slice(1, -1));

it("has rows, and the list has a test for each", () => {
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.map(([attack]) => attack)).toEqual(Object.keys(PROOFS));
  expect(rows.filter(([, protection]) => !protection)).toEqual([]);
});

describe("the tests are there of", () => {
  it.each(Object.entries({ ...PROOFS, ...ALSO }))("%s", (_, proofs) => {
    expect(proofs).not.toHaveLength(0);
    for (const [name, title] of proofs) {
      expect(title.length).toBeGreaterThanOrEqual(10);
      const files = ENDINGS.map((ending) => new URL(`test/${name}${ending}`, ROOT)).filter((file) => existsSync(file));
      expect(files, `${name} is there`).toHaveLength(1);
      expect(titlesOf(readFileSync(files[0]!, "utf8"))).toContainEqual(expect.stringContaining(title));
    }
  });
});

/** Texts in double quotes: titles of tests, and of rows in their tables. */
function titlesOf(source: string): string[] {
  return [...source.matchAll(/"((?:[^"\\\n]|\\.)+)"/g)].map(([, title]) => title!);
}
