/** A table of prices that the user keeps: CSV, or JSON in the form of `prices`. The fields of a policy check it. */

import { meterFields } from "../../features/meter/fields.ts";
import { isTable, parseJson } from "../../kernel/config/bindings.ts";
import type { Field } from "../../kernel/config/fields/field.ts";
import { read } from "../../kernel/config/fields/read.ts";
import { describeValue, type Mistake } from "../../kernel/config/mistake.ts";
import type { Price } from "../../kernel/core/policy.ts";
import { Failure } from "../io.ts";

/** By model. */
export type Prices = Readonly<Record<string, Price>>;

const { of: MODEL, names: NAMES, required: DEFAULT } = meterFields.own.fields.meter.fields.prices;
const COLUMNS = "a column model, and columns such as input, cachedInput, output, above.200000.input, tier.flex";

/** @param name how messages name the file. @throws {Failure} with every mistake. */
export function readTable(text: string, name: string): Prices {
  const content = text.replace(/^\ufeff/, "");
  const isJson = /^\s*\{/.test(content) || name.endsWith(".json");
  const { models, mistakes } = isJson ? modelsInJson(content) : modelsInCsv(content);
  const prices = new Map<string, Price>();
  for (const { model, at, value } of models) {
    if (!NAMES.form.test(model)) mistakes.push(`${at}: expected ${NAMES.expected}; found ${describeValue(model)}`);
    const price = readPrice(value);
    for (const { path, expected, found } of price.mistakes) {
      mistakes.push(`${at}${placeOf(path, isJson)}: expected ${expected}; found ${found}`);
    }
    prices.set(model, price.value as Price);
  }
  if (mistakes.length === 0 && !prices.has(DEFAULT.name)) {
    mistakes.push(`expected a row for the model ${DEFAULT.name}, whose prices all other models have; found none`);
  }
  if (mistakes.length > 0) throw new Failure(`mistakes in ${name}:`, ...mistakes);
  return Object.fromEntries(prices);
}

/** What the fields of a policy say about the prices of one model. */
function readPrice(written: unknown) {
  const mistakes: Mistake[] = [];
  const value = read(MODEL as Field, written, { path: "", code: "ERR_POLICY_PRICES", unit: "usd", mistakes });
  return { value, mistakes };
}

function placeOf(path: string, isJson: boolean): string {
  if (path === "") return "";
  return isJson ? path : `, column ${path.slice(1)}`;
}

interface Read {
  readonly models: readonly { readonly model: string; readonly at: string; readonly value: unknown }[];
  readonly mistakes: string[];
}

function modelsInJson(text: string): Read {
  const value = parseJson(text);
  if (!isTable(value)) return { models: [], mistakes: [`expected an object of prices by model; found no such JSON`] };
  return { models: Object.entries(value).map(([model, value]) => ({ model, at: model, value })), mistakes: [] };
}

function modelsInCsv(text: string): Read {
  const rows = rowsOf(text);
  if (typeof rows === "string") return { models: [], mistakes: [rows] };
  const [header = [], ...others] = rows.map(trimmed);
  const mistakes = mistakesInHeader(header);
  if (mistakes.length > 0) return { models: [], mistakes };
  const rowOf = new Map<string, number>();
  const models = others.flatMap((cells, i) => {
    // As spreadsheets number them: the header is row 1.
    const row = i + 2;
    if (cells.length === 0) return [];
    const model = cells[header.indexOf("model")] ?? "";
    const at = `row ${row} (${model || "no model"})`;
    const before = rowOf.get(model.toLowerCase());
    if (before !== undefined) mistakes.push(`${at}: expected each model once; found it in row ${before} too`);
    rowOf.set(model.toLowerCase(), row);
    if (cells.length > header.length) {
      mistakes.push(`${at}: expected at most ${header.length} cells, as in row 1; found ${cells.length}`);
    }
    const given = header.flatMap((column, j) => (column === "model" || !cells[j] ? [] : [[column, cells[j]] as const]));
    // The fields read numbers that are written as texts.
    return [{ model, at, value: nested(given.map(([column, cell]) => [pathOf(column), cell])) }];
  });
  return { models, mistakes };
}

/** Without empty cells at the end, which spreadsheets add. */
function trimmed(cells: readonly string[]): string[] {
  const texts = cells.map((cell) => cell.trim());
  return texts.slice(0, 1 + texts.findLastIndex((text) => text !== ""));
}

function mistakesInHeader(header: readonly string[]): string[] {
  const twice = header.find((column, i) => header.indexOf(column) < i);
  if (twice !== undefined) return [`row 1: expected each column once; found ${describeValue(twice)} twice`];
  const columns = header.filter((column) => column !== "model");
  if (columns.length === header.length) return [`row 1: expected ${COLUMNS}; found ${describeValue(header.join(","))}`];
  const { mistakes } = readPrice(nested(columns.map((column) => [pathOf(column), 1])));
  return mistakes.map(({ path, expected, found }) =>
    // Each column has a number here. What is missing is a column.
    found === "nothing"
      ? `row 1: expected a column ${path.slice(1)}; found none`
      : `row 1: expected ${expected}; found a column ${path.slice(1) || '""'}`,
  );
}

/** `above.200000.input` has three steps. Names of tiers and tools may have dots. */
function pathOf(column: string): readonly string[] {
  const [, group = column, rest] = /^([^.]*)\.(.*)$/.exec(column) ?? [];
  if (rest === undefined) return [group];
  return group === "above" ? [group, ...rest.split(".")] : [group, rest];
}

type Cell = readonly [path: readonly string[], value: number | string];

function nested(cells: readonly Cell[]): Record<string, unknown> {
  const groups = new Map<string, Cell[]>();
  for (const [[name = "", ...rest], value] of cells) groups.set(name, [...(groups.get(name) ?? []), [rest, value]]);
  const members = [...groups].map(([name, inside]) => {
    const isValue = inside.length === 1 && inside[0]![0].length === 0;
    return [name, isValue ? inside[0]![1] : nested(inside)] as const;
  });
  return Object.fromEntries(members);
}

/** The cells of each row (RFC 4180), separated as the header is. @returns a mistake if a quote has no end. */
function rowsOf(text: string): string[][] | string {
  const separator = /^[^,;\t\r\n]*([,;\t])/.exec(text)?.[1] ?? ",";
  const rows: string[][] = [[""]];
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const [c, row] = [text[i]!, rows.at(-1)!];
    const cell = row.length - 1;
    if (isQuoted) {
      if (c !== '"') row[cell] += c;
      else if (text[i + 1] === '"') row[cell] += text[i++]!;
      else isQuoted = false;
    } else if (c === '"' && row[cell]!.trim() === "") {
      isQuoted = true;
      row[cell] = "";
    } else if (c === separator) row.push("");
    else if (c === "\n" || (c === "\r" && text[i + 1] !== "\n")) rows.push([""]);
    else if (c !== "\r") row[cell] += c;
  }
  return isQuoted ? `row ${rows.length}: expected a second quote; found none` : rows;
}
