// What an answer costs, computed in another way than src/features/meter/llm/units.ts does.

import type { ReadUsage } from "./clients.ts";

/** Dollars per million tokens. */
export interface Dollars {
  readonly input: number;
  readonly cachedInput?: number;
  readonly output: number;
}

/** Units of 10 micro-dollars, by whole thousandths of a dollar: rounded up once for each request. */
export function dollarUnits({ input, cached, output }: ReadUsage, price: Dollars): number {
  const perMille = (dollars: number) => BigInt(Math.round(dollars * 1_000));
  const sum =
    BigInt(input - cached) * perMille(price.input) +
    BigInt(cached) * perMille(price.cachedInput ?? price.input) +
    BigInt(output) * perMille(price.output);
  return Number((sum + 9_999n) / 10_000n);
}
