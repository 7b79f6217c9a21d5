/** Tokens as units of a limit: as they are, or as dollars. */

import type { Meter, Price } from "../../../kernel/core/policy.ts";
import type { Estimate } from "./estimate.ts";
import { LONGEST_NAME } from "./format.ts";
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
 * The sum adds whole numbers, and is exact up to 2^53: 9,007 dollars. Above that, up to the most that is counted at
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
export function estimatedUnits(meter: Pricing, { model, isUnread }: Estimate, usage: Usage): number {
  const units = usedUnits(meter, model, usage);
  if (!isUnread || model !== undefined || meter.unit === "tokens") return units;
  return Math.max(units, ...Object.values(meter.prices ?? {}).map((price) => unitsAt(price, usage)));
}

/**
 * The units that an answer has used: by the price of the model that it names, as far as a price other than `default` is
 * for it. A provider may name a version that no price is for, and then by the model that was asked for. If the name
 * does not begin with that one, another model may have answered, and the dearer of the two counts.
 */
export function answeredUnits(meter: Pricing, answered: string | undefined, asked: Estimate, usage: Usage): number {
  const { prices = {} } = meter;
  if (answered !== undefined && priceOf(prices, answered) !== prices.default) return usedUnits(meter, answered, usage);
  const units = estimatedUnits(meter, asked, usage);
  const { model = "", isModelInPath } = asked;
  if (answered === undefined || isModelInPath || !prices.default) return units;
  if (lower(answered).startsWith(lower(model))) return units;
  return Math.max(units, usedUnits(meter, answered, usage));
}

/** A provider or a program has given the usage: it may hold any number. */
function whole(tokens: number): number {
  return tokens > 0 ? Math.min(MAX_UNITS, Math.ceil(tokens)) : 0;
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
  const hasNoOutput = format === undefined || format === "openai-embeddings";
  const isKnown = stated ? hasNoOutput || scanner.isOutputKnown() : !isBackground && scanner.isOutputKnown();
  const settled: Record<string, number> = {};
  for (const [name, unitsOf] of prices) {
    const units = unitsOf(usage);
    if (isKnown || units > reserved[name]!) settled[name] = units;
  }
  return settled;
}

/** The prices that were found last: the events of a stream ask for the same. */
const found = new WeakMap<object, Map<string, Price | undefined>>();
const MOST_FOUND = 100;

/**
 * The price of a model: the price of the longest pattern that matches it, not counting `*`; of two patterns of that
 * length, the one with fewer `*`. Without a matching pattern the price `default`. Case does not matter, as in the paths
 * of policies: an origin may take a deployment's name in any case, and another case must not cost less.
 */
export function priceOf(prices: Readonly<Record<string, Price>>, model: string | undefined): Price | undefined {
  if (model === undefined) return prices.default;
  const name = lower(model.slice(0, LONGEST_NAME));
  let known = found.get(prices);
  if (!known || known.size >= MOST_FOUND) {
    known = new Map();
    found.set(prices, known);
  }
  if (!known.has(name)) {
    const [best = "default"] = Object.keys(prices)
      .filter((pattern) => matches(pattern, name))
      .sort((a, b) => textOf(b).length - textOf(a).length || a.length - b.length);
    known.set(name, prices[best]);
  }
  return known.get(name);
}

const lower = (text: string) => text.toLowerCase();

function textOf(pattern: string): string {
  return pattern.replaceAll("*", "");
}

/**
 * Takes the first place for each part: no model, however long, makes it slow. The line feeds mark a beginning and an
 * end that occur nowhere else.
 *
 * @param model in lower case.
 */
function matches(pattern: string, model: string): boolean {
  const text = `\n${model.replaceAll("\n", " ")}\n`;
  let at = 0;
  return `\n${lower(pattern)}\n`.split("*").every((part) => {
    const found = text.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
}
