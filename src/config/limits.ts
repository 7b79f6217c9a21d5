/** Limits as an operator writes them and as the program uses them, and the largest numbers of each algorithm. */

import { algorithmOf, type LimitSpec, NAMED } from "../core/algorithms.ts";
import { formatDuration } from "../core/duration.ts";
import type { Field } from "../core/named.ts";
import type { Limit } from "../core/policy.ts";
import { type MeterUnit, toWritten } from "../core/units.ts";
import type { LimitInput } from "./policy-input.ts";

/** The limit as an operator could write it, with defaults filled in. */
export function writeLimit(limit: Limit): LimitInput {
  const { algorithm, scope, unit } = limit;
  const { fields, valuesOf } = NAMED[algorithm];
  const values = Object.entries(valuesOf(limit)).map(([name, value]) => [name, write(fields[name]!, value, unit)]);
  return { algorithm, ...Object.fromEntries(values), scope };
}

function write({ is }: Field, value: number | string | undefined, unit: MeterUnit | undefined): unknown {
  if (typeof value !== "number") return value;
  return is === "units" ? toWritten(value, unit) : is === "duration" ? formatDuration(value) : value;
}

/** The largest cost that the limit ever admits. A concurrency limit admits any cost. */
export function largestCost(limit: LimitSpec): number {
  const { quota, windowMs } = algorithmOf(limit).quota(limit);
  return windowMs === undefined ? Number.POSITIVE_INFINITY : quota;
}
