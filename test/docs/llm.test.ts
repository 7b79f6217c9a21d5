// docs/llm.md: its example follows from its prices, and its table says where each claim is from.

import { parse } from "smol-toml";
import { expect, it } from "vitest";
import { blocksOf, read, sectionOf, tableIn } from "./markdown.ts";

const PAGE = read("docs/llm.md");
const EXAMPLE = sectionOf("docs/llm.md", "Prices");
const [block] = blocksOf("docs/llm.md", "toml");
const { vars } = parse(block!.text) as { vars: { POLICIES: Record<string, unknown>[] } };
const [tokens, dollars] = vars.POLICIES as [
  { limits: { limit: number }[] },
  { limits: { limit: number }[]; meter: { prices: Record<string, Record<string, number>> } },
];

const number = (text: string) => Number(text.replaceAll(",", ""));
/** "902 × 1.25" */
const factors = (cell: string) => cell.split(" × ").map(number) as [tokens: number, price: number];
/** Prices have at most three decimals here: thousandths of micro-dollars are whole numbers. */
const thousandths = (cells: readonly string[]) =>
  cells.map(factors).reduce((sum, [count, price]) => sum + BigInt(count) * BigInt(Math.round(price * 1_000)), 0n);

const rows = tableIn(EXAMPLE, "Step");
const rowOf = (name: string) => rows.find((row) => row.Step === name)!;

it("the example is priced by the block of the page", () => {
  const { input, cachedInput, output } = dollars.meter.prices["gpt-5*"]!;
  for (const name of ["reserved", "used"]) {
    const row = rowOf(name);
    const cells = [row.Input!, row["Cached input"]!, row.Output!];
    expect(cells.map((cell) => factors(cell)[1])).toEqual([input, cachedInput, output]);
    const cost = thousandths(cells);
    expect(number(row["Micro-dollars"]!)).toBe(Number(cost) / 1_000);
    expect(number(row.Units!)).toBe(Number((cost + 9_999n) / 10_000n));
  }
});

it("the example reserves and uses what its text says", () => {
  const [bytes, maximum, input, cached, output] = [
    .../with ([\d,]+) bytes of text and `max_tokens` ([\d,]+)\. Its response reports ([\d,]+)\s+input tokens, ([\d,]+) of them cached, and ([\d,]+) output/
      .exec(EXAMPLE)!
      .slice(1)
      .map(number),
  ] as [number, number, number, number, number];
  const [reserved, used] = [rowOf("reserved"), rowOf("used")];
  expect([reserved.Input, reserved.Output].map((cell) => factors(cell!)[0])).toEqual([Math.ceil(bytes / 4), maximum]);
  expect([used.Input, used["Cached input"], used.Output].map((cell) => factors(cell!)[0])).toEqual([
    input - cached,
    cached,
    output,
  ]);
  const units = [reserved, used].map((row) => number(row.Units!)) as [number, number];
  expect(number(rowOf("given back").Units!)).toBe(units[0] - units[1]);
  expect(EXAMPLE).toContain(`used $${(units[1] / 100_000).toFixed(5)} of the $${dollars.limits[0]!.limit}`);
  // What clients see of it, before it is settled.
  const fields = sectionOf("docs/llm.md", "What clients see");
  expect(fields).toContain(`"tokens-1";q=${tokens.limits[0]!.limit};w=60;qu="tokens"`);
  expect(fields).toContain(`"tokens-1";r=${tokens.limits[0]!.limit - Math.ceil(bytes / 4) - maximum};`);
  expect(fields).toContain(`"dollars-1";q=${dollars.limits[0]!.limit * 100_000};w=86400;qu="10-micro-usd"`);
  expect(fields).toContain(`"dollars-1";r=${dollars.limits[0]!.limit * 100_000 - units[0]};`);
});

it("every claim about another product has a source, and every source is used", () => {
  const table = tableIn(sectionOf("docs/llm.md", "Compared with others"), "Question");
  expect(table.length).toBeGreaterThan(3);
  for (const { Question: row, ...cells } of table) {
    for (const [product, cell] of Object.entries(cells)) {
      if (cell !== "not documented") expect(cell, `${row}, ${product}`).toMatch(/\]\([\w.#-]+\)|\]\[\w\d\]/);
    }
  }
  const named = new Set([...PAGE.matchAll(/\]\[(\w\d)\]/g)].map(([, name]) => name));
  const defined = [...PAGE.matchAll(/^\[(\w\d)\]: https:\/\/\S+$/gm)].map(([, name]) => name);
  expect(defined.sort()).toEqual([...named].sort());
});
