// What a model costs: caches, steps by the length of the input, tiers and calls, to the last 10^-12 dollars.

import { describe, expect, it } from "vitest";
import { costOf } from "../../../src/features/meter/llm/prices.ts";
import { usedUnits } from "../../../src/features/meter/llm/units.ts";
import type { Usage } from "../../../src/features/meter/llm/usage.ts";
import type { Price } from "../../../src/kernel/core/policy.ts";

const NONE = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
const CLAUDE: Price = {
  ...{ input: 3, cachedInput: 0.3, output: 15, above: { 200000: { input: 6, output: 22.5 } } },
  ...{ tier: { priority: 1.75, flex: 0.5 }, call: { web_search: 0.01 } },
};
const MILLION = 1_000_000;

describe("dollars", () => {
  it.each<[string, Partial<Usage>, number, (string | undefined)?, Price?]>([
    ["input", { inputTokens: 1_000 }, 0.003],
    ["of a cache", { inputTokens: 1_000, cachedInputTokens: 600 }, 0.4 * 0.003 + 0.6 * 0.0003],
    ["a cache that is written costs 1.25 of input", { inputTokens: 1_000, cacheWriteTokens: 1_000 }, 0.00375],
    ["for an hour twice", { inputTokens: 1_000, cacheWrite1hTokens: 1_000 }, 0.006],
    [
      "all at once",
      { inputTokens: 1_000, cachedInputTokens: 100, cacheWriteTokens: 200, cacheWrite1hTokens: 300, outputTokens: 50 },
      (400 * 3 + 100 * 0.3 + 200 * 3.75 + 300 * 6 + 50 * 15) / MILLION,
    ],
    ["parts that are more than all", { inputTokens: 10, cachedInputTokens: 30, cacheWriteTokens: 5 }, 0.000003],
    ["200,000 tokens of input", { inputTokens: 200_000, outputTokens: 10 }, 0.6 + 0.00015],
    ["one more: all tokens cost more", { inputTokens: 200_001, outputTokens: 10 }, 200_001 * 0.000006 + 0.000225],
    ["a step keeps the ratio of caches", { inputTokens: 300_000, cachedInputTokens: 300_000 }, 300_000 * 0.0000006],
    ["and of caches that are written", { inputTokens: 300_000, cacheWriteTokens: 300_000 }, 300_000 * 0.0000075],
    ["a tier", { inputTokens: 1_000, tier: "priority" }, 0.00525],
    ["an unknown tier", { inputTokens: 1_000, tier: "standard" }, 0.003, "priority"],
    ["the tier of the request, if it is dearer", { inputTokens: 1_000 }, 0.00525, "priority"],
    ["not if it is cheaper", { inputTokens: 1_000 }, 0.003, "flex"],
    ["a tier does not multiply calls", { inputTokens: 1_000, tier: "flex", calls: { web_search: 3 } }, 0.0015 + 0.03],
    ["calls of other tools", { calls: { function: 3, constructor: 2 } }, 0],
    [
      "a price of 0, whose step has one",
      { inputTokens: 5 },
      0.000005,
      undefined,
      { ...CLAUDE, input: 0, above: { 1: { input: 1 } } },
    ],
    [
      "and what that step reads from a cache",
      { inputTokens: 5, cachedInputTokens: 2, cacheWriteTokens: 2 },
      0.0000055,
      undefined,
      { input: 0, output: 0, above: { 1: { input: 1 } } },
    ],
    ["no tokens of any price", {}, 0, undefined, { input: 1e305, output: 1e305 }],
  ])("%s", (_, usage, dollars, asked, price = CLAUDE) => {
    expect(costOf(price, { ...NONE, ...usage }, asked)).toBe(Math.round(dollars * 1e12));
  });

  it("takes the last of several steps that is passed", () => {
    const price = { input: 1, output: 0, above: { 1000: { input: 4 }, 200: { input: 3 }, 30: { input: 2 } } };
    const costs = [30, 31, 200, 201, 1_000, 1_001].map((inputTokens) =>
      costOf(price, { ...NONE, inputTokens }, undefined),
    );
    expect(costs.map((cost) => cost / MILLION)).toEqual([30, 62, 400, 603, 3_000, 4_004]);
  });
});

describe("weights", () => {
  const usage = {
    inputTokens: 1_003,
    cachedInputTokens: 1_000,
    cacheWriteTokens: 1,
    cacheWrite1hTokens: 1,
    outputTokens: 7,
  };
  it.each([
    [undefined, 1_010],
    [{ input: 1, cachedInput: 0, output: 5 }, 38],
    [{ cachedInput: 0.1, cacheWrite: 1.3, output: 0 }, 104],
    [{ input: 0, cachedInput: 0, cacheWrite: 0.1, output: 0 }, 1],
  ])("%o", (weights, units) => {
    expect(usedUnits(weights ? { unit: "tokens", weights } : { unit: "tokens" }, undefined, usage)).toBe(units);
  });
});
