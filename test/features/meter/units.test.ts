// Prices: exact sums, rounded up once, and the price of the longest pattern.

import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { reservedUnits, usedUnits } from "../../../src/features/meter/llm/index.ts";
import { priceOf } from "../../../src/features/meter/llm/prices.ts";
import { answeredUnits } from "../../../src/features/meter/llm/units.ts";
import { draws } from "../../support/cases/draws.ts";

const price = (input: number, output = input) => ({ input, output });
const usage = (inputTokens: number, cachedInputTokens: number, outputTokens: number) => ({
  inputTokens,
  cachedInputTokens,
  outputTokens,
});

describe("the price of a model", () => {
  const prices = { "*": price(9), "gpt-5*": price(1), "gpt-5-mini*": price(2), "gpt-5": price(3), default: price(7) };
  it.each([
    ["gpt-5-mini-2026", 2],
    ["gpt-5-2026", 1],
    ["gpt-5", 3],
    ["gpt-5-MINI", 2],
    ["GPT-5", 3],
    ["other", 9],
    [undefined, 7],
  ])("%s", (model, input) => expect(priceOf(prices, model)?.input).toBe(input));

  it("matches parts in their order, without overlap", () => {
    const only = (pattern: string, model: string) => priceOf({ [pattern]: price(1), default: price(2) }, model)?.input;
    expect(only("a*b*c", "a-b-c")).toBe(1);
    expect(only("a*b*c", "a-c-b")).toBe(2);
    expect(only("ab*ba", "aba")).toBe(2);
    expect(only("*/gpt*", "openai/gpt-5")).toBe(1);
    expect(only("*/GPT*", "OpenAI/gpt-5")).toBe(1);
    expect(only("gpt-5", "gpt-5.2")).toBe(2);
  });
});

describe("units", () => {
  const usd = (input: number, output = input) => ({ unit: "usd" as const, prices: { default: price(input, output) } });

  it("are tokens, or 10 micro-dollars", () => {
    expect(usedUnits({ unit: "tokens" }, undefined, usage(3, 1, 4))).toBe(7);
    // 1,000,000 tokens for 1.25 dollars.
    expect(usedUnits(usd(1.25), "m", usage(1_000_000, 0, 0))).toBe(125_000);
    const cached = { unit: "usd" as const, prices: { default: { input: 1, cachedInput: 0.1, output: 0 } } };
    expect(usedUnits(cached, "m", usage(2_000_000, 1_000_000, 0))).toBe(110_000);
  });

  it("equal the sum of fractions, and are at most 10^9", () => {
    const micros = fc.integer({ min: 0, max: 1_000_000_000 });
    const tokens = fc.integer({ min: 0, max: 1_000_000_000 });
    fc.assert(
      fc.property(micros, micros, micros, tokens, tokens, tokens, (pi, pc, po, input, cached, output) => {
        const prices = { default: { input: pi / 1e6, cachedInput: pc / 1e6, output: po / 1e6 } };
        const read = BigInt(Math.min(cached, input));
        const sum = (BigInt(input) - read) * BigInt(pi) + read * BigInt(pc) + BigInt(output) * BigInt(po);
        const units = sum / 10_000_000n + (sum % 10_000_000n > 0n ? 1n : 0n);
        const expected = units > 1_000_000_000n ? 1_000_000_000 : Number(units);
        expect(usedUnits({ unit: "usd", prices }, "m", usage(input, cached, output))).toBe(expected);
      }),
      draws(100),
    );
  });

  it("of a reservation: the asked output up to maxOutput, which is reserved where nothing is asked", () => {
    const meter = { unit: "tokens" as const, maxOutput: 100 };
    expect(reservedUnits(meter, { inputTokens: 5, outputTokens: 30 })).toBe(35);
    expect(reservedUnits(meter, { inputTokens: 5, outputTokens: 300 })).toBe(105);
    expect(reservedUnits(meter, { inputTokens: 5 })).toBe(105);
    expect(reservedUnits(meter, { inputTokens: 5, outputTokens: 0 })).toBe(5);
  });

  it("of a body that nobody has read have the dearest price, unless the path or the answer names the model", () => {
    const prices = { "in*": price(9, 1), "out*": price(1, 9), cheap: price(1), default: price(2) };
    const meter = { unit: "usd" as const, prices, maxOutput: 1_000_000 };
    const body = { inputTokens: 2_000_000, isUnread: true };
    const units = (...dollars: number[]) => dollars.reduce((sum, one) => sum + one * 100_000, 0);
    expect(reservedUnits(meter, body)).toBe(units(18, 1));
    expect(reservedUnits(meter, { ...body, inputTokens: 0 })).toBe(units(9));
    expect(reservedUnits(meter, { ...body, model: "cheap" })).toBe(units(2, 1));
    expect(reservedUnits(meter, { ...body, isUnread: false })).toBe(units(4, 2));
    expect(reservedUnits({ ...meter, unit: "tokens" }, body)).toBe(3_000_000);
    const used = usage(2_000_000, 0, 1_000_000);
    expect(answeredUnits(meter, "cheap", body, used)).toBe(units(2, 1));
    for (const unknown of [undefined, "other"]) expect(answeredUnits(meter, unknown, body, used)).toBe(units(18, 1));
  });

  it("of a body that nobody has read are those of the dearest tier, unless the answer names one", () => {
    const meter = { unit: "usd" as const, prices: { default: { ...price(1), tier: { flex: 0.5, priority: 3 } } } };
    const cost = (isUnread: boolean, tier?: string) => {
      const stated = usage(1_000_000, 0, 0);
      return answeredUnits(meter, "m", { inputTokens: 1, isUnread }, tier ? { ...stated, tier } : stated);
    };
    expect([cost(true), cost(false), cost(true, "flex")]).toEqual([300_000, 100_000, 50_000]);
  });

  it.each<[asked: string, answered: string | undefined, dollars: number, isModelInPath?: boolean]>([
    ["cheap", undefined, 1],
    ["cheap", "cheap-2026-11", 1],
    ["cheap", "Cheap-2026-11", 1],
    // Another model may have answered: the body has named several, or one that only the server reads.
    ["cheap", "other", 5],
    ["cheap", "not-cheap", 5],
    ["dear", "other", 9],
    ["cheap", "dear", 9],
    ["dear", "cheap", 1],
    // The path has named it, and nobody else could.
    ["cheap", "other", 1, true],
  ])("asked for %s and answered by %s cost %i dollars", (model, answered, dollars, isModelInPath = false) => {
    const prices = { cheap: price(1), dear: price(9), default: price(5) };
    const asked = { inputTokens: 1, model, isModelInPath };
    const cost = answeredUnits({ unit: "usd", prices }, answered, asked, usage(1_000_000, 0, 0));
    expect(cost).toBe(dollars * 100_000);
  });

  it("of a very long name are looked up in its first 256 characters, once for all events of a stream", () => {
    const lookups = vi.spyOn(String.prototype, "indexOf");
    const patterns = Array.from({ length: 20 }, (_, i) => [`model-${i}*-x`, price(i)]);
    const prices = { ...(Object.fromEntries(patterns) as Record<string, ReturnType<typeof price>>), default: price(7) };
    const model = "model-1".repeat(7_000);
    for (let event = 0; event < 30; event++) expect(priceOf(prices, model)?.input).toBe(7);
    expect(lookups.mock.calls.length).toBeLessThan(3 * 20);
    for (const text of lookups.mock.contexts) expect(String(text).length).toBeLessThan(300);
    lookups.mockRestore();
  });
});
