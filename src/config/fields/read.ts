/** Reads values by their fields, and says what is wrong with them. */

import { bareExpected, DURATION, parseDurationMs } from "../../core/duration.ts";
import { MAX_UNITS } from "../../core/layout.ts";
import { DOLLARS_EXPECTED, toUnits } from "../../core/units.ts";
import { isTable } from "../bindings.ts";
import { type Mistake, type MistakeCode, mistakeAbout } from "../mistake.ts";
import type { Field, Fields, Unit } from "./field.ts";

/** Where a value stands. */
export interface Place {
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

/** @returns the value as the program uses it. Undefined: it is absent, or wrong, and a mistake says so. */
export function read(given: Field, written: unknown, at: Place): unknown {
  const field = inPolicyOf(at.unit, given);
  const value = written === undefined ? field.default : written;
  if (value === undefined && field.isOptional) return undefined;
  const before = at.mistakes.length;
  const right = rightValue(field, value, at);
  if (right === undefined && at.mistakes.length === before) wrong(field, written, at);
  return right;
}

/** A field as it is in a policy whose limits count this. */
export function inPolicyOf(unit: Unit, field: Field): Field {
  const { besideMeter } = field;
  if (unit === "none" || besideMeter === undefined) return field;
  return "is" in besideMeter ? besideMeter : besideMeter[unit];
}

/** Undefined: the value is wrong. Mistakes in a table or a list are noted, one for each. */
function rightValue(field: Field, value: unknown, at: Place): unknown {
  switch (field.is) {
    case "list":
      return Array.isArray(value) ? itemsOf(field, value, at) : undefined;
    case "oneOrMore": {
      if (Array.isArray(value)) return itemsOf(field, value, at);
      const item = read(itemOf(field), value, at);
      return item === undefined ? undefined : [item];
    }
    case "table":
    case "byAlgorithm":
    case "named": {
      if (!isTable(value)) return undefined;
      const before = at.mistakes.length;
      const values = inTable(field, value, at);
      return at.mistakes.length > before ? undefined : values;
    }
    default: {
      const plain = plainValue(field, value, at.unit);
      return plain !== undefined && (field.isRight?.(plain as never) ?? true) ? plain : undefined;
    }
  }
}

/** The algorithm of a limit that names none. */
export const DEFAULT_ALGORITHM = "sliding-window";

/** The fields of a limit by its algorithm. Undefined: there is no such algorithm. */
export function fieldsBy(tables: Readonly<Record<string, Fields>>, limit: { readonly algorithm?: unknown }) {
  const { algorithm = DEFAULT_ALGORITHM } = limit;
  return typeof algorithm === "string" && Object.hasOwn(tables, algorithm) ? tables[algorithm] : undefined;
}

type TableField = Extract<Field, { readonly is: "table" | "byAlgorithm" | "named" }>;
type Table = Readonly<Record<string, unknown>>;

/** Undefined: the table itself is wrong. */
function inTable(field: TableField, table: Table, at: Place): Table | undefined {
  if (field.is === "named") return namedValues(field, table, at);
  if (field.is === "table") {
    const values = readFields(field.fields, table, at);
    for (const { field: name, expected = expectedOf(field, at.unit), found } of field.together?.(table) ?? []) {
      const [path, value] = name === undefined ? [at.path, table] : [`${at.path}.${name}`, found];
      at.mistakes.push(mistakeAbout(at.code, path, expected, value));
    }
    return values;
  }
  const fields = fieldsBy(field.tables, table);
  if (fields !== undefined) return readFields(fields, table, at, codeOf);
  const algorithm: Field = { is: "word", words: Object.keys(field.tables) };
  return wrong(algorithm, table.algorithm, { ...at, path: `${at.path}.algorithm`, code: "ERR_POLICY_ALGORITHM" });
}

function namedValues({ of, names, required = {} }: Extract<Field, { readonly is: "named" }>, table: Table, at: Place) {
  const code = of.code ?? at.code;
  const missing = Object.keys(required).filter((name) => table[name] === undefined);
  for (const name of missing)
    wrong({ ...of, expected: required[name]! }, undefined, { ...at, path: `${at.path}.${name}`, code });
  const given = Object.keys(table).filter((name) => !missing.includes(name));
  const values = given.map((name) => [name, read(of, table[name], { ...at, path: `${at.path}.${name}`, code })]);
  for (const name of given) {
    if (names?.form.test(name) === false) at.mistakes.push(mistakeAbout(at.code, at.path, names.expected, name));
  }
  return values.length > 0 ? Object.fromEntries(values) : undefined;
}

type ListField = Extract<Field, { readonly is: "list" | "oneOrMore" }>;

/** The number of items is wrong only if all items are right. */
function itemsOf(field: ListField, items: readonly unknown[], at: Place): unknown {
  const before = at.mistakes.length;
  const values = items.map((item, i) => read(itemOf(field), item, { ...at, path: `${at.path}[${i}]` }));
  const isEmpty = items.length === 0 && !("canBeEmpty" in field);
  const isRight = !isEmpty && items.length <= (field.most ?? items.length);
  return isRight || at.mistakes.length > before ? values : undefined;
}

function itemOf({ of, expected }: ListField): Field {
  return expected === undefined ? of : { ...of, expected };
}

/**
 * The values of a table's fields. Those that are wrong are absent.
 *
 * @param code of a field, by its name. Absent: fields have that of the table, unless they say their own.
 */
export function readFields(
  fields: Fields,
  table: Table,
  at: Place,
  code: (name: string) => MistakeCode = () => at.code,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const place = { ...at, path: `${at.path}.${name}`, code: field.code ?? code(name) };
    const value = read(field, table[name], place);
    if (value !== undefined) values[name] = value;
  }
  const unknown = Object.keys(table).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) {
    const expected = INSTEAD.get(unknown) ?? `only the fields ${Object.keys(fields).join(", ")}`;
    at.mistakes.push(mistakeAbout("ERR_POLICY_FIELD", `${at.path}.${unknown}`, expected, table[unknown]));
  }
  return values;
}

/** The code for a wrong field of a policy or a limit: `maxDelay` has `ERR_POLICY_MAX_DELAY`. */
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
    case "duration": {
      const isNone = field.default === 0 && (value === 0 || value === "0");
      const isWritten = typeof value === "string" && DURATION.test(value);
      return isNone || isWritten ? within(field.leastMs, field.mostMs, parseDurationMs(value)) : undefined;
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
      return `an integer from ${field.least} to ${field.most}`;
    case "word":
      return field.words.map((word) => `"${word}"`).join(" or ");
    default:
      return "true or false";
  }
}

function wrong(field: Field, found: unknown, { path, code, unit, mistakes }: Place): undefined {
  const expected = expectedOf(field, unit);
  // A number without its unit.
  const bare = field.is === "duration" ? bareExpected(found, field.leastMs, field.mostMs) : undefined;
  mistakes.push(mistakeAbout(code, path, bare ?? field.meant?.(found, expected) ?? expected, found));
}
