// The tables of docs/configuration.md have what the code reads. `npm run check` compares their cells with the entries.

import { parse as parseToml } from "smol-toml";
import { expect, it } from "vitest";
import { BINDING_NAMES } from "../../src/cli/check/surely-wrong.ts";
import { parsePolicies } from "../../src/features/configuration.ts";
import { NAMED } from "../../src/kernel/core/algorithms.ts";
import { blocksOf, read, tableIn } from "./markdown.ts";

const PAGE = read("docs/configuration.md");

/** The first table whose first heading is `heading`: from its first cell to the cell under `column`. */
function table(heading: string, column: string): Map<string, string> {
  return new Map(tableIn(PAGE, heading).map((row) => [row[heading]!, row[column]!]));
}

const ALGORITHMS = Object.keys(NAMED);

it("every algorithm has its promise, its section on its page, and examples that are accepted", () => {
  const page = read("docs/algorithms.md");
  const promised = tableIn(page, "`algorithm`").map(({ algorithm }) => algorithm!.split("`")[0]!);
  expect([...new Set(promised)].sort()).toEqual([...ALGORITHMS].sort());
  const sections = [...page.matchAll(/^## ([a-z]+-?[a-z]+)$/gm)].map(([, name]) => name!);
  expect(sections.sort()).toEqual([...ALGORITHMS].sort());

  const examples = blocksOf("docs/algorithms.md", "toml").map(({ text }) => parseToml(text));
  expect(examples.length).toBeGreaterThanOrEqual(ALGORITHMS.length);
  for (const { limits } of examples)
    expect(parsePolicies([{ name: "a", limits }], "POLICIES").mistakes).toBeUndefined();
});

it("the bindings table has every binding that the code reads", () => {
  // ANALYTICS is read only to be refused.
  const known = BINDING_NAMES.filter((name) => name !== "ANALYTICS");
  expect([...table("Binding", "Kind").keys()].sort()).toEqual([...known].sort());
});
