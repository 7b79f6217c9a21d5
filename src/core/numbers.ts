/** A limit with another number: that of a plan, of a program or of an operator. Counts do not depend on the number. */

import { algorithmOf, type LimitSpec } from "./algorithms.ts";
import { MAX_UNITS } from "./layout.ts";
import type { Limit } from "./policy.ts";
import { recordIdOf } from "./records.ts";
import { DOLLARS_EXPECTED, type MeterUnit, toUnits, withoutNoise } from "./units.ts";

/**
 * The limit with this number. A bucket's `burst` follows the number if the two were equal, as they are by default, and
 * stays otherwise. `shadowLimit` belongs to the number of the configuration, and is left out.
 */
export function withNumber(limit: Limit, number: number): Limit {
  if (number === limit.limit) return limit;
  const { shadowLimit: _, ...others } = limit;
  const follows = "burst" in limit && limit.burst === limit.limit;
  return { ...others, limit: number, ...(follows && { burst: number }) } as Limit;
}

/** The limit with this number as people write it: dollars under a `usd` meter. */
export function withWritten(limit: Limit, number: number): Limit {
  return withNumber(limit, toUnits(number, limit.unit));
}

/**
 * The limit with its number and its `burst` multiplied, each rounded down and at least 1. `shadowLimit` is left out, as
 * by `withNumber`.
 */
export function timesFactor(limit: Limit, factor: number): Limit {
  const times = (units: number) => Math.max(1, Math.floor(withoutNoise(units * factor)));
  const multiplied = withNumber(limit, times(limit.limit));
  return "burst" in limit ? ({ ...multiplied, burst: times(limit.burst) } as Limit) : multiplied;
}

/** What would fit, in words, if the limit's numbers are out of range or too large for exact decisions. */
export function misfit(limit: LimitSpec & { readonly unit?: MeterUnit }): string | undefined {
  const { tooLarge, mostUnits: most = MAX_UNITS } = algorithmOf(limit);
  const isUnits = (units: number) => Number.isSafeInteger(units) && units >= 1 && units <= most;
  if (!isUnits(limit.limit)) return limit.unit === "usd" ? DOLLARS_EXPECTED : `an integer from 1 to ${most}`;
  if ("burst" in limit && !isUnits(limit.burst)) return `a burst from 1 to ${most}`;
  return tooLarge?.(limit);
}

/** Whether two lists have the same limits of one key, with the same numbers and in the same order. */
export function haveSameNumbers(one: readonly LimitSpec[], other: readonly LimitSpec[]): boolean {
  if (one.length !== other.length) return false;
  // Every answer from memory or from leased units comes through here: no function is made for it.
  for (let l = 0; l < one.length; l++) if (!hasSameNumber(one[l]!, other[l]!)) return false;
  return true;
}

/** Whether two limits of one key count in the same record, and have the same number. */
export function hasSameNumber(one: LimitSpec, other: LimitSpec): boolean {
  if (one === other) return true;
  if (one.limit !== other.limit || recordIdOf(one) !== recordIdOf(other)) return false;
  return !("burst" in one && "burst" in other) || one.burst === other.burst;
}
