/** Tokens as units of a limit: as they are, or as dollars. */

import type { Meter, Price, Weights } from "../../../kernel/core/policy.ts";
import type { Estimate } from "./estimate.ts";
import { hasOutput } from "./format.ts";
import { costOf, lower, MAX_UNITS, priceOf, splitInput, whole } from "./prices.ts";
import type { AnswerScanner } from "./scanner.ts";
import type { Usage } from "./usage.ts";

/** The members of a meter by which units are computed. */
type Pricing = Pick<Meter, "unit" | "prices" | "weights">;

/** 10 micro-dollars, in 10^-12 dollars. */
const UNIT = 10_000_000;

/** As in the configuration. */
const DEFAULT_MAX_OUTPUT = 4_096;

/**
 * The units to reserve: the estimated input, and the output that the request asks for, at most `maxOutput`; `maxOutput`
 * if it does not say. Cached input is not assumed. For a body that was not read, the dearest price of the meter counts.
 *
 * @returns an integer 0 … 10^9.
 * @throws {TypeError} if a `usd` meter has neither a price that matches the model nor the price `default`.
 */
export function reservedUnits(meter: Pricing & Partial<Pick<Meter, "maxOutput">>, estimate: Estimate): number {
  const { maxOutput = DEFAULT_MAX_OUTPUT } = meter;
  const { inputTokens, outputTokens = maxOutput } = estimate;
  const usage = { inputTokens, cachedInputTokens: 0, outputTokens: Math.min(outputTokens, maxOutput) };
  return estimatedUnits(meter, estimate, usage);
}

/** What every body costs that has a byte: 1, or 0 if some body costs nothing. */
export function leastUnits({ unit, prices = {}, weights = {} }: Pricing, { format }: Estimate): 0 | 1 {
  if (format !== undefined && !hasOutput(format)) return 0;
  const outputs = unit === "tokens" ? [weights.output ?? 1] : Object.values(prices).flatMap(outputsOf);
  return outputs.every((output) => output > 0) ? 1 : 0;
}

function outputsOf({ output, above = {} }: Price): number[] {
  return [output, ...Object.values(above).flatMap((step) => step.output ?? [])];
}

/**
 * The units that an answer has used: tokens by their weights, or with `usd` units of 10 micro-dollars, rounded up once.
 *
 * Sums are exact up to 9,007 dollars. Above that, up to the most that is counted at once, the result may be wrong by 1.
 * The quotient is rounded up correctly: doubles below 2^30 are at most 2^-23 apart, and a quotient that is not whole is
 * at least 10^-7 away from a whole number, which is more than half of 2^-23.
 *
 * @param model the model that answered. Absent: the price `default`.
 * @returns an integer 0 … 10^9. A count of tokens that is not above 0 counts as 0.
 * @throws {TypeError} as for `reservedUnits`.
 */
export function usedUnits(meter: Pricing, model: string | undefined, usage: Usage): number {
  return unitsAt(meter, model, usage, {});
}

/** Which service tier a request pays for if the answer names none. */
type AskedTier = Pick<Estimate, "tier" | "isUnread">;

function unitsAt(meter: Pricing, model: string | undefined, usage: Usage, asked: AskedTier): number {
  if (meter.unit === "tokens") return tokensIn(usage, meter.weights);
  return dollarUnits(meter, priceFor(meter, model), usage, asked);
}

function priceFor({ prices = {} }: Pricing, model: string | undefined): Price {
  const price = priceOf(prices, model);
  if (!price) throw new TypeError("expected a default price");
  return price;
}

/** What other models have used costs their own price. The tier is that of the model that has answered. */
function dollarUnits(meter: Pricing, price: Price, usage: Usage, { tier, isUnread }: AskedTier): number {
  // A body that nobody could read may ask for any of them.
  const tiers = isUnread ? Object.keys(price.tier ?? {}) : [];
  let cost = Math.max(...[tier, ...tiers].map((asked) => costOf(price, usage, asked)));
  for (const other of usage.others ?? []) cost += costOf(priceFor(meter, other.model), other.usage, undefined);
  return Math.min(MAX_UNITS, Math.ceil(cost / UNIT));
}

function tokensIn(usage: Usage, { input = 1, cachedInput = 1, cacheWrite = 1, output = 1 }: Weights = {}): number {
  // Weights have tenths.
  const tenths = (tokens: number, weight: number) => tokens * Math.round(weight * 10);
  let sum = 0;
  for (const one of [usage, ...(usage.others ?? []).map((other) => other.usage)]) {
    const { read, written, written1h, other } = splitInput(one);
    sum += tenths(other, input) + tenths(read, cachedInput) + tenths(written + written1h, cacheWrite);
    sum += tenths(whole(one.outputTokens), output);
  }
  return Math.min(MAX_UNITS, Math.ceil(sum / 10));
}

/** What a usage costs by the model of the request. Where nobody could read which one that is, by the dearest price. */
export function estimatedUnits(meter: Pricing, asked: Estimate, usage: Usage): number {
  const { model, isUnread } = asked;
  const units = unitsAt(meter, model, usage, asked);
  if (!isUnread || model !== undefined || meter.unit === "tokens") return units;
  return Math.max(units, ...Object.values(meter.prices ?? {}).map((price) => dollarUnits(meter, price, usage, asked)));
}

/**
 * The units that an answer has used: by the price of the model that it names, as far as a price other than `default` is
 * for it. A provider may name a version that no price is for, and then by the model that was asked for. If the name
 * does not begin with that one, another model may have answered, and the dearer of the two counts.
 */
export function answeredUnits(meter: Pricing, answered: string | undefined, asked: Estimate, usage: Usage): number {
  const { prices = {} } = meter;
  const { model = "", isModelInPath } = asked;
  const isPriced = answered !== undefined && priceOf(prices, answered) !== prices.default;
  if (isPriced) return unitsAt(meter, answered, usage, asked);
  const units = estimatedUnits(meter, asked, usage);
  if (answered === undefined || isModelInPath || !prices.default) return units;
  if (lower(answered).startsWith(lower(model))) return units;
  return Math.max(units, unitsAt(meter, answered, usage, asked));
}

/** What a usage costs a policy, by its name. */
export type Prices = ReadonlyMap<string, (usage: Usage) => number>;

/**
 * What a reservation is settled with: by what the answer states, otherwise by the text that was streamed. It is at
 * least what was reserved if nobody knows all of the output: the format has one and the answer tells none, or a JSON
 * answer was left before its end, or a model in the background works on when its client has left.
 *
 * @param scanner absent: the answer cannot be read.
 * @returns units by the name of the policy. A policy that is not named keeps what it has reserved.
 */
export function settledUnits(
  scanner: AnswerScanner | undefined,
  { format, isBackground }: Estimate,
  reserved: Readonly<Record<string, number>>,
  prices: Prices,
): Record<string, number> {
  const stated = scanner?.usage();
  const usage = stated ?? scanner?.streamed();
  if (!scanner || !usage) return {};
  const hasNoOutput = format === undefined || !hasOutput(format);
  const isKnown = stated ? hasNoOutput || scanner.isOutputKnown() : !isBackground && scanner.isOutputKnown();
  const settled: Record<string, number> = {};
  for (const [name, unitsOf] of prices) {
    const units = unitsOf(usage);
    if (isKnown || units > reserved[name]!) settled[name] = units;
  }
  return settled;
}
