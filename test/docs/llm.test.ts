// docs/llm.md: its example follows from its prices, and its table says where each claim is from.

import { parse } from "smol-toml";
import { expect, it } from "vitest";
import { ENDINGS } from "../../src/features/meter/llm/format.ts";
import { usedUnits } from "../../src/features/meter/llm/units.ts";
import { UNMETERED_SEGMENTS } from "../../src/features/meter/unmetered.ts";
import type { Price, Weights } from "../../src/kernel/core/policy.ts";
import { blocksOf, read, sectionOf, tableIn } from "./markdown.ts";

const PAGE = read("docs/llm.md");
const EXAMPLE = sectionOf("docs/llm.md", "Prices");
const [block] = blocksOf("docs/llm.md", "toml");
const { vars } = parse(block!.text) as { vars: { POLICIES: Record<string, unknown>[] } };
const [tokens, dollars] = vars.POLICIES as [
  { limits: { limit: number }[] },
  { limits: { limit: number }[]; meter: { prices: Record<string, Record<string, number>> } },
];

interface Priced {
  readonly vars: { readonly POLICIES: { readonly meter: { readonly prices: Record<string, Required<Price>> } } };
}

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

it("the example with caches, a tier and tools costs what the page says", () => {
  const [, priced] = blocksOf("docs/llm.md", "toml").map(({ text }) => parse(text)) as [unknown, Priced];
  const prices = priced.vars.POLICIES.meter.prices["claude-*"]!;
  const text = sectionOf("docs/llm.md", "Cached tokens, tiers and tools").replaceAll(/\s+/g, " ");
  const [sum = "", total = ""] = /That's (.+?) = [\d,]+, and (.+? = [\d,]+ micro-dollars, or [\d,]+) units/
    .exec(text)!
    .slice(1);
  const terms = sum.split(" + ").map(factors);
  const step = prices.above["200000"]!;
  const ratio = step.input / prices.input;
  const { cachedInput, cacheWrite, cacheWrite1h } = prices;
  const others = [cachedInput, cacheWrite, cacheWrite1h].map((price) => price * ratio);
  expect(terms.map(([, price]) => price)).toEqual([step.input, ...others, step.output]);
  const [input, cached, written, written1h, output] = terms.map(([count]) => count) as [number, ...number[]];
  expect(text).toContain(`with ${output!.toLocaleString("en")} output tokens and 2 web searches`);
  expect(text).toContain(`its ${(input + cached! + written! + written1h!).toLocaleString("en")} input tokens`);
  const usage = {
    inputTokens: input + cached! + written! + written1h!,
    cachedInputTokens: cached!,
    cacheWriteTokens: written!,
    cacheWrite1hTokens: written1h!,
    outputTokens: output!,
    tier: "priority",
    calls: { web_search: 2 },
  };
  const all = terms.reduce((micros, [count, price]) => micros + count * price, 0);
  const micros = all * prices.tier.priority! + 2 * prices.call.web_search! * 1e6;
  const units = usedUnits({ unit: "usd", prices: { default: prices } }, undefined, usage);
  expect(total).toBe(
    `${all.toLocaleString("en")} × ${prices.tier.priority} + 2 × 10,000 = ${micros.toLocaleString("en")} micro-dollars, or ${units.toLocaleString("en")}`,
  );
});

it("the example of weights counts what the page says", () => {
  const text = sectionOf("docs/llm.md", "Weights");
  const [weights] = /(?<=`weights = )\{.*\}/.exec(text)!;
  const written = parse(`weights = ${weights}`) as unknown as { weights: Weights };
  const usage = { inputTokens: 2_950, cachedInputTokens: 2_048, outputTokens: 412 };
  expect(text.replaceAll(/\s+/g, " ")).toContain(
    `2,950 input tokens, 2,048 of them cached, and 412 output tokens then counts 902 + 5 × 412 = ${usedUnits({ unit: "tokens", ...written }, undefined, usage).toLocaleString("en")}.`,
  );
});

it("lists the segments of paths that nobody can meter, and the endings of every format", () => {
  const shown = sectionOf("docs/llm.md", "What is not metered");
  for (const segment of UNMETERED_SEGMENTS) expect(shown).toContain(`\`${segment}\``);
  const providers = sectionOf("docs/llm.md", "Providers");
  const ends = ENDINGS.filter((ending) => !/-stream$|^\/api\/embeddings$/.test(ending));
  for (const ending of ends) expect(providers).toContain(`${ending}\``);
});

it("every claim about another product has a source, and every source is used", () => {
  const bullets = sectionOf("docs/llm.md", "Compared with others").match(/^- .*(?:\n {2}.*)*/gm)!;
  expect(bullets.length).toBeGreaterThan(4);
  for (const bullet of bullets) expect(bullet).toMatch(/\]\[\w\d\]/);
  const named = new Set([...PAGE.matchAll(/\]\[(\w\d)\]/g)].map(([, name]) => name));
  const defined = [...PAGE.matchAll(/^\[(\w\d)\]: https:\/\/\S+$/gm)].map(([, name]) => name);
  expect(defined.sort()).toEqual([...named].sort());
});
