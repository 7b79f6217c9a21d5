/**
 * What people write and read about a limit: the name of its algorithm, its fields, its promise. Each algorithm says it
 * in its own file. src/kernel/config makes schemas and messages of the fields, which are plain data.
 */

import { type Duration, sayDuration } from "./duration.ts";
import { type Kind, MAX_UNITS, MAX_WINDOW_MS } from "./layout.ts";
import { type CountedIn, describeUnits, type MeterUnit } from "./units.ts";

/** Fields of every limit. */
export interface LimitBase {
  /**
   * Units per window, an integer 1 … 10^9 (`sliding-log`: 10,000); `concurrency`: requests at a time. Under a `usd`
   * meter: dollars.
   */
  readonly limit: number;
  /** `"global"` (default): one count for all regions. `"region"`: each region counts by itself. */
  readonly scope?: "global" | "region" | undefined;
}

/** Fields of every limit with a window. */
export interface WindowBase extends LimitBase {
  /** 1 ms … 31 days: `"250ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`. */
  readonly window: Duration;
}

/**
 * One field of a limit, as data. `expected` says in words what it may be. Absent: it follows from the rest. A field
 * with neither a default nor leave to be absent is required.
 */
export type Field = {
  readonly expected?: string;
  readonly isOptional?: true;
  /** True: two limits that differ only in this field share one count. */
  readonly sharesCount?: true;
  /** A further condition on a value of this form. Absent: none. */
  readonly isRight?: (value: never) => boolean;
} /** Units of the limit: under a `usd` meter they are written in dollars. */ & (
  | { readonly is: "units"; readonly most: number }
  | {
      readonly is: "integer";
      readonly least: number;
      readonly most: number;
      /** What it counts. Absent: its name says it. */
      readonly counts?: "milliseconds";
      readonly default?: number;
    }
  | {
      readonly is: "duration";
      readonly leastMs: number;
      readonly mostMs: number;
      /** Written as people do, or 0: none. */
      readonly default?: Duration | 0;
      /** True: it may be 0, whatever the least is. */
      readonly canBeNone?: true;
    }
  | { readonly is: "word"; readonly words: readonly string[]; readonly default?: string }
  | {
      readonly is: "text";
      /** Absent: any form. */
      readonly form?: RegExp;
      /** What is kept of it. Absent: the text itself. */
      readonly kept?: (text: string) => string;
      readonly default?: string;
    }
);

/** The value of a field after it is checked: units, an integer, milliseconds, a word or a text. */
export type ValueOf<F extends Field> =
  | (F extends { readonly words: readonly (infer W)[] } ? W : F extends { readonly is: "text" } ? string : number)
  | (F extends { readonly isOptional: true } ? undefined : never);

/**
 * The fields of a limit, in the order in which people see them: `limit` first. Not here: `algorithm` and `scope`.
 */
export type Fields = Readonly<Record<string, Field>>;

/** The values of a limit's fields, with defaults filled in. */
export type ValuesOf<F extends Fields> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** The values of any limit's fields. */
export type Values = Readonly<Record<string, number | string | undefined>> & { readonly limit: number };

/** A limit with what it counts. Absent: numbers stand alone. */
type Counted<L> = L & { readonly unit?: CountedIn };

/** An algorithm under one of its names. @typeParam L the limit. @typeParam V the values of its fields. */
export interface Named<L, V> {
  /** Its kind, or one of its kinds. */
  readonly kind: Kind;
  readonly fields: Fields & { readonly [K in keyof V]: Field };
  /**
   * The meters beside which it can count: it must charge units above the limit, and give back exactly what was charged
   * earlier. Absent: none.
   */
  readonly meters?: readonly MeterUnit[];
  /** True: its units cannot be leased, although its algorithm can. */
  readonly isNeverLeased?: true;
  /** A value that does not fit the others, and what it should be. Absent: all values fit each other. */
  misfit?(values: V): { readonly field: string; readonly expected: string } | undefined;
  limitOf(values: V): L;
  valuesOf(limit: L): V;
  /** For clients: units per time. */
  describe(limit: Counted<L>): string;
  /** For clients: how units come back, with the numbers of this limit. */
  promise(limit: Counted<L>): string;
  /** For operators: how much more than the limit can pass. Absent: never more, in any window. */
  worstCase?(limit: Counted<L>): string | undefined;
  /** For operators: what follows the number of the limit. Absent: `per` and its window, for example `per 1m`. */
  per?(limit: L): string;
}

const UNITS = { is: "units", most: MAX_UNITS } as const;

/** Fields that several algorithms have. */
export const LIMIT = { limit: UNITS } as const;
export const WINDOW = {
  window: {
    is: "duration",
    leastMs: 1,
    mostMs: MAX_WINDOW_MS,
    expected: 'a duration from 1ms to 31d, for example "10s" or "1h"',
  },
} as const;
export const BURST = { burst: { ...UNITS, isOptional: true } } as const;

/** For people: `600 per minute`, `$12.50 per day`, `9,000 tokens per 10 minutes`. */
export function perWindow(units: number, windowMs: number, unit: CountedIn | undefined): string {
  return `${describeUnits(units, unit)} per ${sayDuration(windowMs, "")}`;
}
