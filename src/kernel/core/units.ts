/**
 * Numbers of limits as people write and read them, and the units that are counted. They differ under a `usd` meter
 * only: people write dollars, and a unit is 10 micro-dollars.
 */

/** What the limits of a policy with a meter count. */
export type MeterUnit = "tokens" | "usd";

const UNITS_PER_DOLLAR = 100_000;

/** The dollars that a limit can be, in words. */
export const DOLLARS_EXPECTED = "dollars from 0.00001 to 10000, with at most 5 decimals";

/** What a limit counts, in words for clients: a meter's unit, or without a meter what each request costs. */
export type CountedIn = MeterUnit | "units" | "requests" | `${string} requests`;

/** `token`, `failed request`. */
export function nameOfOne(unit: CountedIn = "units"): string {
  return unit.replace(/s$/, "");
}

/** Units of a number as people write it. Not an integer if dollars have more than 5 decimals. */
export function toUnits(written: number, unit: MeterUnit | undefined): number {
  return unit === "usd" ? withoutNoise(written * UNITS_PER_DOLLAR) : written;
}

/** Units as people write them. */
export function toWritten(units: number, unit: MeterUnit | undefined): number {
  return unit === "usd" ? units / UNITS_PER_DOLLAR : units;
}

/** 15 digits: the product 100 * 0.29, which is 28.999999999999996 in doubles, is 29 for people. */
export function withoutNoise(product: number): number {
  return Number(product.toPrecision(15));
}

/** For people: `$12.50`, `200,000 tokens`, `1 request`; without a unit the number alone. */
export function describeUnits(units: number, unit: CountedIn | undefined): string {
  if (unit !== "usd") {
    const count = units.toLocaleString("en-US");
    return unit === undefined ? count : `${count} ${units === 1 ? nameOfOne(unit) : unit}`;
  }
  const dollars = toWritten(units, unit);
  const minimumFractionDigits = Number.isInteger(dollars) ? 0 : 2;
  return `$${dollars.toLocaleString("en-US", { minimumFractionDigits, maximumFractionDigits: 5 })}`;
}
