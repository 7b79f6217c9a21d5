// What the providers bill, by tables of their own, and computed in another way than src/features/meter/llm does.

import type { MockExchange } from "./mock-provider.ts";

/** What operators write: dollars per million tokens. The longest pattern wins. */
export const PRICES = {
  "gpt-5*": {
    ...{ input: 5, cachedInput: 0.5, output: 30 },
    above: { 272000: { input: 10, output: 45 } },
    tier: { priority: 2, flex: 0.5 },
    call: { web_search: 0.01 },
  },
  "gpt-5-mini*": { input: 0.25, cachedInput: 0.025, output: 2, tier: { priority: 1.8, flex: 0.5 } },
  "claude-*": {
    ...{ input: 3, cachedInput: 0.3, output: 15 },
    above: { 200000: { input: 6, output: 22.5 } },
    tier: { priority: 1.75, batch: 0.5 },
    call: { web_search: 0.012 },
  },
  "gemini-*": {
    ...{ input: 1.25, cachedInput: 0.125, output: 10 },
    above: { 200000: { input: 2.5, output: 15 } },
    tier: { priority: 1.75, flex: 0.5 },
  },
  "llama-*": { input: 0.59, cachedInput: 0.295, output: 0.79 },
  "*embedding*": { input: 0.02, output: 0 },
  default: { input: 15, output: 75 },
};

/** Dollars per million tokens: not read from a cache, read from it, written to it, kept for an hour, and output. */
type Rates = readonly [input: number, read: number, written: number, written1h: number, output: number];

interface PriceList {
  readonly rates: Rates;
  /** The rates of the whole request if it has more tokens of input. */
  readonly beyond?: readonly [tokens: number, rates: Rates];
  /** Percent. */
  readonly tiers?: Readonly<Record<string, number>>;
  /** Cents for each search. */
  readonly search?: number;
}

/** By the model that is asked. No number follows from another one. */
const LISTS: Readonly<Record<string, PriceList>> = {
  "gpt-5.6": {
    rates: [5, 0.5, 6.25, 10, 30],
    beyond: [272_000, [10, 1, 12.5, 20, 45]],
    tiers: { priority: 200, flex: 50 },
    search: 1,
  },
  "gpt-5-mini-2026-08": { rates: [0.25, 0.025, 0.3125, 0.5, 2], tiers: { priority: 180, flex: 50 } },
  "claude-opus-5-5": {
    rates: [3, 0.3, 3.75, 6, 15],
    beyond: [200_000, [6, 0.6, 7.5, 12, 22.5]],
    tiers: { priority: 175 },
    search: 1.2,
  },
  "gemini-3-pro": {
    rates: [1.25, 0.125, 1.5625, 2.5, 10],
    beyond: [200_000, [2.5, 0.25, 3.125, 5, 15]],
    tiers: { priority: 175, flex: 50 },
  },
  "llama-4-70b": { rates: [0.59, 0.295, 0.7375, 1.18, 0.79] },
  "text-embedding-3-small": { rates: [0.02, 0.02, 0.025, 0.04, 0] },
  "unheard-of": { rates: [15, 15, 18.75, 30, 75] },
};

export const MODELS = Object.keys(LISTS);

/** Units of 10 micro-dollars, rounded up once for each request. Only whole answers have a bill. */
export function billedUnits({ model, usage, plan }: MockExchange): number {
  const { rates, beyond = [Number.POSITIVE_INFINITY, rates], tiers = {}, search = 0 } = LISTS[model!]!;
  const { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens, searches } = usage!;
  const counts = [
    inputTokens - cachedInputTokens - cacheWriteTokens,
    cachedInputTokens,
    cacheWriteTokens - cacheWrite1hTokens,
    cacheWrite1hTokens,
    outputTokens,
  ];
  // 10^-14 dollars: a millionth of a cent, for a millionth of a token.
  const [bound, long] = beyond;
  const each = inputTokens > bound ? long : rates;
  const percent = BigInt(tiers[plan.tier ?? ""] ?? 100);
  const tokens = counts.reduce(
    (sum, count, i) => sum + BigInt(count) * BigInt(Math.round(each[i]! * 1e6)) * percent,
    0n,
  );
  const all = tokens + BigInt(searches) * BigInt(Math.round(search * 10)) * 10n ** 11n;
  return Number((all + 999_999_999n) / 1_000_000_000n);
}
