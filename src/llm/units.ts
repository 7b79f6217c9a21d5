/** Tokens as units of a limit: as they are, or as dollars. */

import type { Meter, Price } from "../core/policy.ts";
import type { Estimate } from "./estimate.ts";
import type { AnswerScanner } from "./scanner.ts";
import type { Usage } from "./usage.ts";

/** The members of a meter by which units are computed. */
type Pricing = Pick<Meter, "unit" | "prices">;

/** A price is a whole number of micro-dollars a million tokens: 10^-12 dollars a token. More decimals are rounded. */
const PER_DOLLAR = 1_000_000;
/** 10 micro-dollars, in 10^-12 dollars. */
const UNIT = 10_000_000;
/** The most that a limiter charges at once. */
const MAX_UNITS = 1_000_000_000;

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
export function leastUnits({ unit, prices = {} }: Pricing, { format }: Estimate): 0 | 1 {
  if (format === "openai-embeddings") return 0;
  return unit === "tokens" || Object.values(prices).every(({ output }) => output > 0) ? 1 : 0;
}

/**
 * The units that an answer has used: tokens, or with `usd` units of 10 micro-dollars, rounded up once.
 *
 * The sum adds whole numbers, and is exact up to 2^53: 9,007 dollars. Above that, up to the most that is charged at
 * once, the result may be wrong by 1 unit. The quotient is rounded up correctly: doubles below 2^30 are at most 2^-23
 * apart, and a quotient that is not whole is at least 10^-7 away from a whole number, which is more than half of 2^-23.
 *
 * @param model the model that answered. Absent: the price `default`.
 * @returns an integer 0 … 10^9. A count of tokens that is not above 0 counts as 0.
 * @throws {TypeError} as for `reservedUnits`.
 */
export function usedUnits(meter: Pricing, model: string | undefined, usage: Usage): number {
  if (meter.unit === "tokens") return tokensIn(usage);
  const price = priceOf(meter.prices ?? {}, model);
  if (!price) throw new TypeError("expected a default price");
  return unitsAt(price, usage);
}

function tokensIn({ inputTokens, outputTokens }: Usage): number {
  return Math.min(MAX_UNITS, whole(inputTokens) + whole(outputTokens));
}

function unitsAt(price: Price, { inputTokens, cachedInputTokens, outputTokens }: Usage): number {
  const cost = (tokens: number, dollars = price.input) => tokens * Math.round(dollars * PER_DOLLAR);
  const all = whole(inputTokens);
  const read = Math.min(all, whole(cachedInputTokens));
  const sum = cost(all - read) + cost(read, price.cachedInput) + cost(whole(outputTokens), price.output);
  return Math.min(MAX_UNITS, Math.ceil(sum / UNIT));
}

/** What a usage costs by the model of the request. Where nobody could read which one that is, by the dearest price. */
function estimatedUnits(meter: Pricing, { model, isUnread }: Estimate, usage: Usage): number {
  const units = usedUnits(meter, model, usage);
  if (!isUnread || model !== undefined || meter.unit === "tokens") return units;
  return Math.max(units, ...Object.values(meter.prices ?? {}).map((price) => unitsAt(price, usage)));
}

/**
 * The units that an answer has used: by the price of the model that it names, as far as a price other than `default` is
 * for it. A provider may name a version that no price is for, and then by the model that was asked for.
 */
export function answeredUnits(meter: Pricing, answered: string | undefined, asked: Estimate, usage: Usage): number {
  const { prices = {} } = meter;
  const isPriced = answered !== undefined && priceOf(prices, answered) !== prices.default;
  return isPriced ? usedUnits(meter, answered, usage) : estimatedUnits(meter, asked, usage);
}

/** A provider or a program has given the usage: it may hold any number. */
function whole(tokens: number): number {
  return tokens > 0 ? Math.min(MAX_UNITS, Math.ceil(tokens)) : 0;
}

/**
 * What a reservation is settled with: by what the answer states, otherwise by the text that was streamed. A model in
 * the background works on when its client has left: without a stated usage its client pays at least what was reserved.
 *
 * @param scanner absent: the answer cannot be read.
 * @param unitsOf the units of a policy for a usage.
 * @returns units by the name of the policy. A policy that is not named keeps what it has reserved.
 */
export function settledUnits(
  scanner: AnswerScanner | undefined,
  { isBackground }: Estimate,
  reserved: Readonly<Record<string, number>>,
  names: readonly string[],
  unitsOf: (name: string, usage: Usage) => number,
): Record<string, number> {
  const stated = scanner?.usage();
  const usage = stated ?? scanner?.streamed();
  if (!usage) return {};
  const mayKeep = isBackground && !stated;
  return Object.fromEntries(
    names.flatMap((name) => {
      const units = unitsOf(name, usage);
      return mayKeep && units <= reserved[name]! ? [] : [[name, units]];
    }),
  );
}

/**
 * The price of a model: the price of the longest pattern that matches it, not counting `*`; of two patterns of that
 * length, the one with fewer `*`. Without a matching pattern the price `default`. Case does not matter, as in the paths
 * of policies: an origin may take a deployment's name in any case, and another case must not cost less.
 */
export function priceOf(prices: Readonly<Record<string, Price>>, model: string | undefined): Price | undefined {
  const [best = "default"] = Object.keys(prices)
    .filter((pattern) => model !== undefined && matches(pattern, model))
    .sort((a, b) => textOf(b).length - textOf(a).length || a.length - b.length);
  return prices[best];
}

function textOf(pattern: string): string {
  return pattern.replaceAll("*", "");
}

/**
 * Takes the first place for each part: no model, however long, makes it slow. The line feeds mark a beginning and an
 * end that occur nowhere else.
 */
function matches(pattern: string, model: string): boolean {
  const text = `\n${model.replaceAll("\n", " ").toLowerCase()}\n`;
  let at = 0;
  return `\n${pattern.toLowerCase()}\n`.split("*").every((part) => {
    const found = text.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
}
