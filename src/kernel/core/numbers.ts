/** A limit with another number: that of a plan, of a program or of an operator. Counts do not depend on the number. */

import { algorithmOf, type LimitSpec } from "./algorithms.ts";
import type { Limit } from "./policy.ts";
import { recordIdOf } from "./records.ts";
import { DOLLARS_EXPECTED, type MeterUnit, toUnits, withoutNoise } from "./units.ts";

/**
 * The limit with this number. Its other numbers follow if they were equal to the old one, as a bucket's `burst` is by
 * default, and stay otherwise.
 */
export function withNumber(limit: Limit, number: number): Limit {
  return number === limit.limit ? limit : changed(limit, (units) => (units === limit.limit ? number : units));
}

function changed(limit: Limit, change: (units: number) => number): Limit {
  const units = Object.keys(algorithmOf(limit).units).map((name) => [name, change(unitsIn(limit, name))]);
  return { ...limit, ...Object.fromEntries(units) };
}

/** The limit with this number as people write it: dollars under a `usd` meter. */
export function withWritten(limit: Limit, number: number): Limit {
  return withNumber(limit, toUnits(number, limit.unit));
}

/** The limit with all its numbers multiplied, each rounded down and at least 1. */
export function timesFactor(limit: Limit, factor: number): Limit {
  return changed(limit, (units) => Math.max(1, Math.floor(withoutNoise(units * factor))));
}

/** What would fit, in words, if the limit's numbers are out of range or too large for exact decisions. */
export function misfit(limit: LimitSpec & { readonly unit?: MeterUnit }): string | undefined {
  const { tooLarge, units } = algorithmOf(limit);
  for (const [name, most] of Object.entries(units)) {
    const number = unitsIn(limit, name);
    if (Number.isSafeInteger(number) && number >= 1 && number <= most) continue;
    if (name !== "limit") return `a ${name} from 1 to ${most}`;
    return limit.unit === "usd" ? DOLLARS_EXPECTED : `an integer from 1 to ${most}`;
  }
  return tooLarge(limit);
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
  for (const name in algorithmOf(one).units) if (unitsIn(one, name) !== unitsIn(other, name)) return false;
  return true;
}

/** @param name one of the `units` of the limit's algorithm. */
function unitsIn(limit: LimitSpec, name: string): number {
  return limit[name as "limit"];
}
