// What providers answer, by the forms they document: the units, and the dollars to the last micro-dollar.

import { describe, expect, it } from "vitest";
import type { Estimate } from "../../../src/features/meter/llm/estimate.ts";
import { costOf } from "../../../src/features/meter/llm/prices.ts";
import { createAnswerScanner } from "../../../src/features/meter/llm/scanner.ts";
import { answeredUnits, settledUnits } from "../../../src/features/meter/llm/units.ts";
import type { Price } from "../../../src/kernel/core/policy.ts";
import { ANSWERS } from "./providers/answers.ts";

/** More than any answer costs: an answer that does not say all of its usage keeps it. */
const RESERVED = 1_000_000_000;
const ASKED: Estimate = { inputTokens: 77, model: "asked" };

/** @param size of the chunks in which the answer comes. */
function scan(type: string, body: Uint8Array, size: number) {
  const scanner = createAnswerScanner(new Headers({ "Content-Type": type }), ASKED)!;
  for (let i = 0; i < body.length; i += size) scanner.push(body.subarray(i, i + size));
  scanner.end();
  return scanner;
}

/** What a policy of dollars and one of tokens settle. */
function settle(scanner: ReturnType<typeof scan>, asked: Estimate, price: Price) {
  const meters = { usd: { unit: "usd", prices: { default: price } }, tokens: { unit: "tokens" } } as const;
  const unitsOf = Object.entries(meters).map(
    ([name, meter]) => [name, (usage) => answeredUnits(meter, scanner.model(), asked, usage)] as const,
  ) as [string, Parameters<typeof settledUnits>[3] extends ReadonlyMap<string, infer F> ? F : never][];
  return settledUnits(scanner, asked, { usd: RESERVED, tokens: RESERVED }, new Map(unitsOf));
}

const SIZES = [1, 2, 3, 7, 64, Number.MAX_SAFE_INTEGER];

describe("a documented answer costs what it costs by hand", () => {
  it.each(ANSWERS.map((one) => [one.name, one] as const))("%s", (_, { type, body, format, price, micros, units }) => {
    for (const size of SIZES) {
      const scanner = scan(type, body, size);
      const usage = scanner.usage()!;
      const settled = settle(scanner, { ...ASKED, format }, price);
      expect([costOf(price, usage, undefined) / 1e6, settled]).toEqual([
        micros,
        { usd: units, tokens: usage.inputTokens + usage.outputTokens },
      ]);
    }
  });
});
