/** The limits of a policy. Each algorithm says in src/kernel/core which fields it has. */

import { type AlgorithmName, algorithmOf, type LimitSpec, NAMED } from "../../core/algorithms.ts";
import { formatDuration } from "../../core/duration.ts";
import { MAX_LIMITS } from "../../core/layout.ts";
import type { Field as LimitField } from "../../core/named.ts";
import { misfit } from "../../core/numbers.ts";
import type { Limit } from "../../core/policy.ts";
import { recordIdOf } from "../../core/records.ts";
import { type MeterUnit, toUnits, toWritten } from "../../core/units.ts";
import { type Mistake, type MistakeCode, mistakeAbout } from "../mistake.ts";
import type { LimitInput } from "../policy-input.ts";
import type { Checked, CheckedLimit, FeatureFields, Field, Fields, LimitValues, Unit } from "./field.ts";
import { codeOf, DEFAULT_ALGORITHM, isRight, withCodes } from "./read.ts";

export const ALGORITHMS = Object.keys(NAMED) as AlgorithmName[];

/** What replaces a limit of 0. */
export const BLOCK_INSTEAD = " (to refuse all requests of a client, block it)";

/** The algorithms that can count in this unit. */
function algorithmsFor(unit: Unit): AlgorithmName[] {
  return ALGORITHMS.filter((name) => unit === "none" || NAMED[name].meters?.includes(unit));
}

/** A field of a limit. A wrong value may be right for the field of the same name of another algorithm. */
function fieldOf(name: string, field: LimitField, algorithms: readonly AlgorithmName[]): Field {
  if (field.is === "units") {
    return name === "limit" ? { ...field, meant: noneInstead } : field;
  }
  const meant = (value: unknown, expected: string) => {
    const takers = algorithms.filter((algorithm) => {
      const other: LimitField | undefined = NAMED[algorithm].fields[name];
      return other && other.is !== field.is && other.is !== "units" && isRight(other, value);
    });
    if (value === undefined || takers.length === 0) return undefined;
    return `${expected}; or ${takers.map((taker) => `algorithm = "${taker}"`).join(" or ")}`;
  };
  return { ...field, meant };
}

function noneInstead(value: unknown, expected: string): string | undefined {
  return value === 0 || value === "0" ? `${expected}${BLOCK_INSTEAD}` : undefined;
}

function fieldsOf(algorithm: AlgorithmName, algorithms: readonly AlgorithmName[]): Fields {
  const own = Object.entries<LimitField>(NAMED[algorithm].fields);
  return withCodes({
    algorithm: {
      is: "word",
      words: [algorithm],
      ...(algorithm === DEFAULT_ALGORITHM && { default: algorithm }),
    },
    ...Object.fromEntries(own.map(([name, field]) => [name, fieldOf(name, field, algorithms)])),
    scope: { is: "word", words: ["global", "region"], default: "global" },
  });
}

function limitsIn(unit: Unit): Field {
  const algorithms = algorithmsFor(unit);
  return {
    is: "list",
    of: {
      is: "byAlgorithm",
      tables: Object.fromEntries(algorithms.map((name) => [name, fieldsOf(name, algorithms)])),
    },
    most: MAX_LIMITS,
    expected: `a list of 1 to ${MAX_LIMITS} limits`,
  };
}

const LIMITS: Field = {
  ...limitsIn("none"),
  besideMeter: { tokens: limitsIn("tokens"), usd: limitsIn("usd") },
};

export const limits = {
  fields: { limits: LIMITS },
  beside({ limits, mistakes }) {
    mistakes.push(...limits.flatMap(rangeMistakes), ...limitsTwice(limits));
  },
  write: ({ limits }) => ({ limits: limits.map(writeLimit) }),
} as const satisfies FeatureFields;

export function idOf(name: string, position: number, limits: number): string {
  return limits === 1 ? name : `${name}-${position + 1}`;
}

/** A limit as the program uses it. */
export function limitOf(values: LimitValues, id: string, unit: MeterUnit | undefined): Limit {
  const { algorithm, scope } = values;
  const limit = NAMED[algorithm].limitOf({ ...values, limit: toUnits(values.limit, unit) });
  return { id, algorithm, scope, ...(unit && { unit }), ...limit };
}

function rangeMistakes({ values, limit, path }: CheckedLimit): Mistake[] {
  const { misfit: unfitOf, fields } = NAMED[limit.algorithm];
  const unfit = unfitOf?.(values);
  if (unfit) {
    const { field, expected } = unfit;
    return [{ code: codeOf(field), path: `${path}.${field}`, expected, found: String(values[field]) }];
  }
  const expected = misfit(limit);
  if (expected === undefined) return [];
  const numbers = Object.entries<LimitField>(fields).filter(([, { is }]) => is === "units");
  const [field] = numbers.findLast(([name]) => values[name] !== undefined)!;
  return [{ code: "ERR_POLICY_RANGE", path: `${path}.${field}`, expected, found: String(largestCost(limit)) }];
}

/** Two limits of a policy that would share one record. Of two windows, the larger limit could never be reached. */
function limitsTwice(limits: readonly CheckedLimit[]): Mistake[] {
  const seen = new Map<string, string>();
  return limits.flatMap(({ limit, path }): Mistake[] => {
    const identity = `${limit.scope} ${recordIdOf(limit)}`;
    const first = seen.get(identity);
    if (first === undefined) {
      seen.set(identity, path);
      return [];
    }
    const names = Object.entries<LimitField>(NAMED[limit.algorithm].fields).flatMap(([name, field]) =>
      field.is === "units" || field.sharesCount ? [] : name,
    );
    const expected = `another ${names.join(", ")} or scope: with the same ones both limits would share one count`;
    return [{ code: "ERR_POLICY_LIMIT_TWICE", path, expected, found: `the same as ${first}` }];
  });
}

/** Whether units of this algorithm can come back exactly as they were charged. */
export function canGiveBack(algorithm: AlgorithmName): boolean {
  return NAMED[algorithm].meters?.includes("tokens") ?? false;
}

/** Finds limits of algorithms that a field of the policy excludes. */
export function expectAlgorithms(
  { limits, mistakes }: Checked,
  canBe: (algorithm: AlgorithmName) => boolean,
  code: MistakeCode,
  expected: string,
): void {
  for (const { limit, path } of limits) {
    if (canBe(limit.algorithm)) continue;
    mistakes.push(mistakeAbout(code, `${path}.algorithm`, expected, limit.algorithm));
  }
}

/** The limit as an operator could write it, with defaults filled in. */
export function writeLimit(limit: Limit): LimitInput {
  const { algorithm, scope, unit } = limit;
  const { fields, valuesOf } = NAMED[algorithm];
  const values = Object.entries(valuesOf(limit)).map(([name, value]) => [name, written(fields[name]!, value, unit)]);
  return { algorithm, ...Object.fromEntries(values), scope };
}

function written({ is }: LimitField, value: number | string | undefined, unit: MeterUnit | undefined): unknown {
  if (typeof value !== "number") return value;
  return is === "units" ? toWritten(value, unit) : is === "duration" ? formatDuration(value) : value;
}

/** The largest cost that the limit ever admits. A concurrency limit admits any cost. */
export function largestCost(limit: LimitSpec): number {
  const { quota, windowMs } = algorithmOf(limit).quota(limit);
  return windowMs === undefined ? Number.POSITIVE_INFINITY : quota;
}
