/** Reads values by their fields, and says what is wrong with them. */

import { describeType } from "../../check-options.ts";
import { bareExpected, DURATION, parseDurationMs } from "../../core/duration.ts";
import { MAX_UNITS } from "../../core/layout.ts";
import { DOLLARS_EXPECTED, toUnits } from "../../core/units.ts";
import { nearest, noField } from "../../nearest.ts";
import { isTable } from "../bindings.ts";
import { type Mistake, type MistakeCode, mistakeAbout } from "../mistake.ts";
import type { Field, Fields, Unit } from "./field.ts";

/** Where a value stands. */
export interface Where {
  readonly path: string;
  /** Of mistakes in it. */
  readonly code: MistakeCode;
  readonly unit: Unit;
  /** Gets those that are found. */
  readonly mistakes: Mistake[];
}

/** What to write instead of a field that is gone. */
const INSTEAD = new Map([
  [
    "shadowLimit",
    'no shadowLimit: a second policy asks it, for example { name = "api-trial", mode = "shadow", limits = [{ limit = 300, window = "1m" }] }',
  ],
]);

/**
 * @returns the value as the program uses it. Undefined: it is absent, or wrong, and mistakes say so. A list has
 * undefined in place of wrong items.
 */
export function read(given: Field, written: unknown, at: Where): unknown {
  const field = inFormOf(written, inPolicyOf(at.unit, given));
  const value = written === undefined ? field.default : written;
  if (value === undefined && field.isOptional) return undefined;
  const before = at.mistakes.length;
  const right = rightValue(field, value, at);
  if (at.mistakes.length > before) return field.is === "list" ? right : undefined;
  if (right !== undefined && (field.isRight?.(right as never) ?? true)) return right;
  return wrong(field, written, at);
}

/** A field as it is in a policy whose limits count this. */
export function inPolicyOf(unit: Unit, field: Field): Field {
  const { besideMeter } = field;
  if (unit === "none" || besideMeter === undefined) return field;
  return "is" in besideMeter ? besideMeter : besideMeter[unit];
}

/** A field in the form in which it is written. */
function inFormOf(written: unknown, field: Field): Field {
  return field.asTable && isTable(written) ? field.asTable : field;
}

/** Undefined: the value is wrong as a whole. Mistakes in it are noted, one for each. */
function rightValue(field: Field, value: unknown, at: Where): unknown {
  switch (field.is) {
    case "list":
    case "oneOrMore": {
      const item = field.expected === undefined ? field.of : { ...field.of, expected: field.expected };
      if (field.is === "oneOrMore" && !Array.isArray(value)) return [read(item, value, at)];
      if (!Array.isArray(value)) return undefined;
      const items = value.map((one, i) => read(item, one, inside(at, `[${i}]`)));
      const isNumberRight = items.length === 0 ? "canBeEmpty" in field : items.length <= (field.most ?? items.length);
      // A wrong number of items is reported only if all items are right.
      return isNumberRight || items.includes(undefined) ? items : undefined;
    }
    case "table":
      return isTable(value) ? readFields(field.fields, value, at) : undefined;
    case "byAlgorithm": {
      if (!isTable(value)) return undefined;
      const fields = fieldsBy(field.tables, value);
      if (fields) return readFields(fields, value, at, field.tables);
      const algorithm: Field = { is: "word", words: Object.keys(field.tables) };
      return wrong(algorithm, value.algorithm, inside(at, ".algorithm", "ERR_POLICY_ALGORITHM"));
    }
    case "named": {
      if (!isTable(value)) return undefined;
      const { of, names, required } = field;
      const given = Object.keys(value).filter((name) => value[name] !== undefined);
      if (required && !given.includes(required.name)) {
        wrong({ ...of, expected: required.expected }, undefined, inside(at, `.${required.name}`, of.code));
      }
      const values = given.map((name) => [name, read(of, value[name], inside(at, `.${name}`, of.code))]);
      for (const name of given) {
        if (names?.form.test(name) === false) at.mistakes.push(mistakeAbout(at.code, at.path, names.expected, name));
      }
      return values.length > 0 ? Object.fromEntries(values) : undefined;
    }
    default:
      return plainValue(field, value, at.unit);
  }
}

/** The place of a part. @param step what follows in its path. @param code absent: as for the whole. */
function inside(at: Where, step: string, code = at.code): Where {
  return { ...at, path: `${at.path}${step}`, code };
}

/** The algorithm of a limit that names none. */
export const DEFAULT_ALGORITHM = "sliding-window";

/** The fields of a limit by its algorithm. Undefined: there is no such algorithm. */
export function fieldsBy(tables: Readonly<Record<string, Fields>>, limit: { readonly algorithm?: unknown }) {
  const { algorithm = DEFAULT_ALGORITHM } = limit;
  return typeof algorithm === "string" && Object.hasOwn(tables, algorithm) ? tables[algorithm] : undefined;
}

/** The values of a table's fields. Those that are wrong are absent. @param tables those of all algorithms. */
export function readFields(
  fields: Fields,
  table: Readonly<Record<string, unknown>>,
  at: Where,
  tables: Readonly<Record<string, Fields>> = {},
) {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = read(field, table[name], inside(at, `.${name}`, field.code));
    if (value !== undefined) values[name] = value;
  }
  for (const name of Object.keys(table)) {
    if (table[name] === undefined || Object.hasOwn(fields, name)) continue;
    const expected = INSTEAD.get(name) ?? instead(name, fields, tables);
    // Nobody knows what it is: it may be a secret.
    const found = typeof table[name] === "number" ? String(table[name]) : describeType(table[name]);
    at.mistakes.push({ code: "ERR_POLICY_FIELD", path: `${at.path}.${name}`, expected, found });
  }
  return values;
}

/** What to write in the place of a field that a table does not have. */
function instead(name: string, fields: Fields, tables: Readonly<Record<string, Fields>>): string {
  const owners = Object.keys(tables).filter((algorithm) => Object.hasOwn(tables[algorithm]!, name));
  if (owners.length > 0) return `no ${name}, which belongs to ${owners.join(", ")}`;
  if (nearest(name, limitFields(fields))) {
    return `no ${name}: did you mean limits = [{ limit = 100, window = "1m" }]?`;
  }
  return noField(name, Object.keys(fields));
}

/** What people write beside the policies who come from a limiter with one limit. */
const PLACES: Readonly<Record<string, string>> = {
  ...{ limit: "policies[0].limits[0]", window: "policies[0].limits[0]" },
  ...{ limits: "policies[0]", key: "policies[0]", name: "policies[0]" },
};

/** Where a field stands in a policy that has this name, or nearly this name. */
export function placeOf(name: string): string | undefined {
  const meant = nearest(name, Object.keys(PLACES));
  if (meant === undefined) return undefined;
  return `did you mean ${meant} in ${PLACES[meant]}? For example policies: [{ name: "api", limits: [{ limit: 100, window: "1m" }] }]`;
}

/** The fields of the limits that a table may have. */
function limitFields({ limits }: Fields): string[] {
  const tables = limits?.is === "list" && limits.of.is === "byAlgorithm" ? limits.of.tables : {};
  return [...new Set(Object.values(tables).flatMap((fields) => Object.keys(fields)))];
}

/** Gives each field its own code: fields of policies and of limits have one. */
export function withCodes(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, { ...field, code: codeOf(name) }]));
}

/** The code for a wrong field: `maxDelay` has `ERR_POLICY_MAX_DELAY`. */
export function codeOf(name: string): MistakeCode {
  return `ERR_POLICY_${name.replace(/[A-Z]/g, "_$&").toUpperCase()}` as MistakeCode;
}

/** The value of a field that is no table or list. Undefined: it is wrong. */
function plainValue(field: Field, value: unknown, unit: Unit): unknown {
  switch (field.is) {
    case "units": {
      if (unit !== "usd") return within(1, field.most, numberOf(value));
      const dollars = numberOf(value);
      return dollars !== undefined && within(1, MAX_UNITS, toUnits(dollars, unit)) !== undefined ? dollars : undefined;
    }
    case "integer":
      return within(field.least, field.most, numberOf(value));
    case "choice":
      return field.numbers.find((number) => number === numberOf(value));
    case "price": {
      const dollars = numberOf(value);
      return dollars !== undefined && dollars >= 0 && Number.isFinite(dollars) ? dollars : undefined;
    }
    case "part": {
      const part = numberOf(value);
      return part !== undefined && part > 0 && part <= 1 ? part : undefined;
    }
    case "duration": {
      const durationMs = parseDurationMs(value);
      if (field.canBeNone && durationMs === 0) return 0;
      const isWritten = typeof value === "string" && DURATION.test(value);
      return isWritten ? within(field.leastMs, field.mostMs, durationMs) : undefined;
    }
    case "word":
      return field.words.find((word) => word === value);
    case "flag":
      return value === true || value === "true" ? true : value === false || value === "false" ? false : undefined;
    case "text": {
      if (typeof value !== "string" || field.form?.test(value) === false) return undefined;
      return field.kept?.(value) ?? value;
    }
    default:
      return undefined;
  }
}

/** Whether a value is right for a field by itself. */
export function isRight(field: Field, value: unknown): boolean {
  return plainValue(field, value, "none") !== undefined;
}

/** How a number is written as text: `--var` and JSON in a variable may bring numbers so. */
export const NUMBER = /^\d{1,10}(\.\d+)?$/;

function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && NUMBER.test(value) ? Number(value) : value;
  return typeof number === "number" ? number : undefined;
}

function within(least: number, most: number, number: number | undefined): number | undefined {
  return Number.isInteger(number) && number! >= least && number! <= most ? number : undefined;
}

/** What a field may be, in words. */
export function expectedOf(field: Field, unit: Unit): string {
  if (field.is === "units" && unit === "usd") return DOLLARS_EXPECTED;
  if (field.expected !== undefined) return field.expected;
  if (field.forms) return `one of ${field.forms.join(", ")}`;
  switch (field.is) {
    case "units":
      return `an integer from 1 to ${field.most}`;
    case "integer":
      return `an integer ${field.counts ? `of ${field.counts} ` : ""}from ${field.least} to ${field.most}`;
    case "word":
      return field.words.map((word) => `"${word}"`).join(" or ");
    default:
      return "true or false";
  }
}

function wrong(field: Field, found: unknown, { path, code, unit, mistakes }: Where): undefined {
  const expected = expectedOf(field, unit);
  // A number without its unit.
  const bare = field.is === "duration" ? bareExpected(found, field.leastMs, field.mostMs) : undefined;
  mistakes.push(mistakeAbout(code, path, bare ?? field.meant?.(found, expected) ?? expected, found));
}
