import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { MISTAKE_CODES } from "../../../src/kernel/config/mistake.ts";

it("docs/errors.md has a heading for every code, and for nothing else", () => {
  const text = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const headings = [...text.matchAll(/^### `(\w+)`$/gm)].map(([, code]) => code);
  expect(headings).toEqual([...MISTAKE_CODES]);
});
