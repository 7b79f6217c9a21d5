/** Tokens as units of a limit: as they are, or as dollars. */

import type { Meter, Price } from "../core/policy.ts";
import type { Estimate } from "./estimate.ts";
import type { Usage } from "./usage.ts";

/** The members of a meter by which units are computed. */
export type Pricing = Pick<Meter, "unit" | "prices">;

/** A price is a whole number of micro-dollars a million tokens: 10^-12 dollars a token. More decimals are rounded. */
const PER_DOLLAR = 1_000_000;
/** 10 micro-dollars, in 10^-12 dollars. */
const UNIT = 10_000_000n;
/** The most that a limiter charges at once. */
const MAX_UNITS = 1_000_000_000;

/**
 * The units to reserve: the estimated input, and the output that the request asks for, at most `maxOutput`; `maxOutput`
 * if it does not say. Cached input is not assumed.
 */
export function reservedUnits(meter: Pricing & Partial<Pick<Meter, "maxOutput">>, estimate: Estimate): number {
  const { maxOutput = DEFAULT_MAX_OUTPUT } = meter;
  const outputTokens = Math.min(estimate.outputTokens ?? maxOutput, maxOutput);
  return usedUnits(meter, estimate.model, { inputTokens: estimate.inputTokens, cachedInputTokens: 0, outputTokens });
}

/** As in the configuration. */
const DEFAULT_MAX_OUTPUT = 4_096;

/**
 * The units that an answer has used: tokens, or with `usd` units of 10 micro-dollars. The sum is exact and rounded up
 * once.
 */
export function usedUnits(meter: Pricing, model: string | undefined, usage: Usage): number {
  const [input, output] = [whole(usage.inputTokens), whole(usage.outputTokens)];
  if (meter.unit === "tokens") return Math.min(MAX_UNITS, input + output);
  const price = priceOf(meter.prices ?? {}, model);
  if (!price) throw new TypeError("usedUnits: expected prices with a default");
  const cached = Math.min(input, whole(usage.cachedInputTokens));
  const sum =
    cost(input - cached, price.input) + cost(cached, price.cachedInput ?? price.input) + cost(output, price.output);
  const units = (sum + UNIT - 1n) / UNIT;
  return Math.min(MAX_UNITS, Number(units));
}

function cost(tokens: number, dollarsPerMillion: number): bigint {
  return BigInt(tokens) * BigInt(Math.round(dollarsPerMillion * PER_DOLLAR));
}

/** Usage comes from outside. */
function whole(tokens: number): number {
  return tokens > 0 ? Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(tokens)) : 0;
}

/**
 * The price of a model: that of the longest pattern that matches it, not counting `*`; of two of the same length that
 * with fewer `*`. Otherwise `default`.
 */
export function priceOf(prices: Readonly<Record<string, Price>>, model: string | undefined): Price | undefined {
  let best: string | undefined;
  if (model !== undefined) {
    for (const pattern of Object.keys(prices)) {
      if (matches(pattern, model) && (best === undefined || isCloser(pattern, best))) best = pattern;
    }
  }
  return prices[best ?? "default"];
}

function isCloser(pattern: string, than: string): boolean {
  const more = textOf(pattern).length - textOf(than).length;
  return more > 0 || (more === 0 && pattern.length < than.length);
}

function textOf(pattern: string): string {
  return pattern.replaceAll("*", "");
}

/** Takes the first place for each part: no model, however long, makes it slow. */
function matches(pattern: string, model: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  if (!model.startsWith(first)) return false;
  const last = parts.pop();
  if (last === undefined) return model === first;
  let at = first.length;
  for (const part of parts) {
    const found = model.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return model.length - last.length >= at && model.endsWith(last);
}
