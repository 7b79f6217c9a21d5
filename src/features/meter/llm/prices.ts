/** What a model's tokens and the calls of its tools cost, in whole numbers of 10^-12 dollars. */

import type { Price, PriceStep, TokenPrice } from "../../../kernel/core/policy.ts";
import { LONGEST_NAME } from "./format.ts";
import type { Usage } from "./usage.ts";

/** A price is a whole number of micro-dollars a million tokens: 10^-12 dollars a token. More decimals are rounded. */
const PER_DOLLAR = 1_000_000;

/** What caches cost if the price doesn't say, as parts of the price of input: as Anthropic charges. */
const CACHE_WRITE = 1.25;
const CACHE_WRITE_1H = 2;

type Rates = Readonly<Required<TokenPrice>>;

/** The prices of one model, ready to be multiplied. */
interface Tariff {
  /** The most tokens of input that the rates hold for, in ascending order. The last one is infinite. */
  readonly steps: readonly { readonly upTo: number; readonly rates: Rates }[];
  readonly tiers: ReadonlyMap<string, number>;
  readonly calls: readonly (readonly [name: string, rate: number])[];
}

const tariffs = new WeakMap<Price, Tariff>();

function tariffOf(price: Price): Tariff {
  let tariff = tariffs.get(price);
  if (!tariff) {
    tariff = makeTariff(price);
    tariffs.set(price, tariff);
  }
  return tariff;
}

function makeTariff(price: Price): Tariff {
  const base = ratesOf(price);
  const bounds = Object.keys(price.above ?? {}).sort((a, b) => Number(a) - Number(b));
  const steps = [base, ...bounds.map((bound) => stepOf(base, price.above![bound]!))].map((rates, i) => ({
    upTo: Number(bounds[i] ?? Number.POSITIVE_INFINITY),
    rates,
  }));
  const calls = Object.entries(price.call ?? {});
  return {
    steps,
    tiers: new Map(Object.entries(price.tier ?? {})),
    calls: calls.map(([name, dollars]) => [name, Math.round(dollars * PER_DOLLAR) * PER_DOLLAR]),
  };
}

function ratesOf(price: TokenPrice): Rates {
  const { input, cachedInput = input, cacheWrite = input * CACHE_WRITE, cacheWrite1h = input * CACHE_WRITE_1H } = price;
  return { input, cachedInput, cacheWrite, cacheWrite1h, output: price.output };
}

/** What a step doesn't name keeps its ratio to the price of input. */
function stepOf(base: Rates, step: PriceStep): Rates {
  const ratio = base.input > 0 ? step.input / base.input : 1;
  const rates = Object.entries(base).map(([name, rate]) => [name, step[name as keyof TokenPrice] ?? rate * ratio]);
  return Object.fromEntries(rates) as Rates;
}

/**
 * The sum of what a usage costs. It adds whole numbers, and is exact up to 2^53: 9,007 dollars.
 *
 * @param asked the service tier that the request has asked for. It counts if the answer names none, and if it is dearer.
 */
export function costOf(price: Price, usage: Usage, asked: string | undefined): number {
  const { steps, tiers, calls } = tariffOf(price);
  const all = whole(usage.inputTokens);
  const { rates } = steps.find(({ upTo }) => all <= upTo)!;
  const factor = usage.tier === undefined ? Math.max(1, tiers.get(asked ?? "") ?? 1) : (tiers.get(usage.tier) ?? 1);
  const cost = (tokens: number, dollars: number) => tokens * Math.round(dollars * factor * PER_DOLLAR);
  const { read, written, written1h, other } = splitInput(usage);
  let sum =
    cost(other, rates.input) +
    cost(read, rates.cachedInput) +
    cost(written, rates.cacheWrite) +
    cost(written1h, rates.cacheWrite1h) +
    cost(whole(usage.outputTokens), rates.output);
  for (const [name, rate] of calls) {
    if (usage.calls && Object.hasOwn(usage.calls, name)) sum += whole(usage.calls[name]!) * rate;
  }
  return sum;
}

/** The parts of the input, whose sum is at most all of it. */
export function splitInput(usage: Usage) {
  const all = whole(usage.inputTokens);
  const read = Math.min(all, whole(usage.cachedInputTokens));
  const written1h = Math.min(all - read, whole(usage.cacheWrite1hTokens ?? 0));
  const written = Math.min(all - read - written1h, whole(usage.cacheWriteTokens ?? 0));
  return { read, written, written1h, other: all - read - written1h - written };
}

/** The most units that a limiter counts at once. */
export const MAX_UNITS = 1_000_000_000;

/** A provider or a program has given the usage: it may hold any number. */
export function whole(tokens: number): number {
  return tokens > 0 ? Math.min(MAX_UNITS, Math.ceil(tokens)) : 0;
}

interface Known {
  /** In the order in which they count, each as the texts between its `*`. */
  readonly patterns: readonly { readonly parts: readonly string[]; readonly price: Price }[];
  /** The prices that were found last: the events of a stream ask for the same. */
  readonly names: Map<string, Price | undefined>;
}

const known = new WeakMap<object, Known>();
const MOST_NAMES = 100;

function knownOf(prices: Readonly<Record<string, Price>>): Known {
  let one = known.get(prices);
  if (!one) {
    const patterns = Object.keys(prices)
      .sort((a, b) => textOf(b).length - textOf(a).length || a.length - b.length)
      .map((pattern) => ({ parts: `\n${lower(pattern)}\n`.split("*"), price: prices[pattern]! }));
    one = { patterns, names: new Map() };
    known.set(prices, one);
  }
  return one;
}

/**
 * The price of a model: the price of the longest pattern that matches it, not counting `*`; of two patterns of that
 * length, the one with fewer `*`. Without a matching pattern the price `default`. Case does not matter, as in the paths
 * of policies: an origin may take a deployment's name in any case, and another case must not cost less.
 */
export function priceOf(prices: Readonly<Record<string, Price>>, model: string | undefined): Price | undefined {
  if (model === undefined) return prices.default;
  const name = lower(model.slice(0, LONGEST_NAME));
  const { patterns, names } = knownOf(prices);
  if (!names.has(name)) {
    if (names.size >= MOST_NAMES) names.clear();
    const text = `\n${name.replaceAll("\n", " ")}\n`;
    names.set(name, patterns.find(({ parts }) => matches(parts, text))?.price ?? prices.default);
  }
  return names.get(name);
}

export const lower = (text: string) => text.toLowerCase();

function textOf(pattern: string): string {
  return pattern.replaceAll("*", "");
}

/**
 * Takes the first place for each part: no model, however long, makes it slow.
 *
 * @param text in lower case, between line feeds: they mark a beginning and an end that occur nowhere else.
 */
function matches(parts: readonly string[], text: string): boolean {
  let at = 0;
  return parts.every((part) => {
    const found = text.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
}
