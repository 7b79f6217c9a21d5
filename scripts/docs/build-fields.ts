/**
 * `npm run docs:fields`: writes the tables of bindings and fields in docs/configuration.md, and the codes in
 * docs/errors.md, between their marks. With `--check` it fails if a page differs.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { FIELDS, mistakeCodes } from "../../src/features/configuration.ts";
import { ADMIN_SETTINGS } from "../../src/kernel/config/admin.ts";
import { ALERT_SETTINGS } from "../../src/kernel/config/alerts.ts";
import { COUNTS_SETTINGS } from "../../src/kernel/config/counts.ts";
import type { Field, Fields } from "../../src/kernel/config/fields/field.ts";
import { codeOf, inPolicyOf } from "../../src/kernel/config/fields/read.ts";
import type { MistakeCode } from "../../src/kernel/config/mistake.ts";
import { REGION_SETTINGS } from "../../src/kernel/config/regions.ts";
import { GATEWAY_SETTINGS, OPTION_SETTINGS } from "../../src/kernel/config/settings.ts";
import { STORE_SETTINGS } from "../../src/kernel/config/store.ts";
import { formatDuration } from "../../src/kernel/core/duration.ts";
import { MAX_UNITS } from "../../src/kernel/core/layout.ts";
import {
  BAN_ROWS,
  ERRORS,
  LIMIT_ROWS,
  METER_ROWS,
  POLICY_ROWS,
  REFUSAL_ROWS,
  type Row,
  SETTING_ROWS,
} from "./field-rows.ts";

const COLUMNS = 120;
const ABSENT = "";

const code = (value: unknown) => `\`${value}\``;
const quoted = (value: unknown) => code(JSON.stringify(value));
const number = (value: number) => (value === MAX_UNITS ? "10^9" : value.toLocaleString("en-US"));
const duration = (ms: number) => (ms === 0 ? "0" : formatDuration(ms));

/** What a field may be, in a cell. Undefined: its row says it. */
function valuesOf(field: Field): string | undefined {
  switch (field.is) {
    case "units":
      return `1 … ${number(field.most)}`;
    case "integer":
      return `${number(field.least)} … ${number(field.most)}`;
    case "duration":
      return `${code(duration(field.leastMs))} … ${code(duration(field.mostMs))}`;
    case "word":
      return field.words.map(quoted).join(", ");
    case "flag":
      return "`true`, `false`";
    case "text":
      return field.forms?.map(code).join(", ");
    case "table":
      return `table with ${Object.keys(field.fields).map(code).join(", ")}`;
    case "list":
    case "oneOrMore": {
      const items = field.most === undefined ? valuesOf(field.of) : `1 … ${field.most}`;
      return items && `list of ${items}`;
    }
    default:
      return undefined;
  }
}

/** The same in a sentence. Undefined: only the text of its code says it. */
function sentenceOf(name: string, field: Field): string | undefined {
  const is = (what: string) => `${code(name)} is ${what}`;
  const usual = field.default === undefined ? "" : ` (default ${code(field.default)})`;
  const of = "counts" in field && field.counts ? ` of ${field.counts}` : "";
  const among = (words: readonly unknown[]) => {
    const all = words.map((word) => {
      const written = typeof word === "string" ? quoted(word) : code(word);
      return word === field.default ? `${written} (default)` : written;
    });
    return is(`${all.slice(0, -1).join(", ")} or ${all.at(-1)}`);
  };
  switch (field.is) {
    case "units":
      return is(`an integer from 1 to ${number(field.most)}`);
    case "integer":
      return is(`an integer${of} from ${number(field.least)} to ${number(field.most)}${usual}`);
    case "duration":
      return is(`a duration from ${code(duration(field.leastMs))} to ${code(duration(field.mostMs))}${usual}`);
    case "word":
      return among(field.words);
    case "flag":
      return among([true, false]);
    default:
      return "forms" in field ? is("one of [these sources](configuration.md#policies)") : undefined;
  }
}

/** The settings that are one value. */
const SETTINGS: Fields = {
  ...STORE_SETTINGS,
  ...COUNTS_SETTINGS,
  ...REGION_SETTINGS,
  ...ADMIN_SETTINGS,
  ...ALERT_SETTINGS,
  ...OPTION_SETTINGS,
  ...GATEWAY_SETTINGS,
};

const { limits } = FIELDS;
if (limits.is !== "list" || limits.of.is !== "byAlgorithm") throw new TypeError("limits are no list");
const LIMITS = Object.entries(limits.of.tables);
/** The fields of limits, each with the algorithms that have it, in the order of the rows. */
const LIMIT_FIELDS = Object.keys(LIMIT_ROWS).map((name) => {
  const owners = LIMITS.flatMap(([algorithm, { [name]: field }]) => (field ? [{ algorithm, field }] : []));
  return { name, owners, field: owners[0]!.field };
});

function fieldsOfTable(field: Field): Fields {
  if (field.is !== "table") throw new TypeError("expected a table");
  return field.fields;
}

function expectText(text: string | undefined, name: string): string {
  if (text === undefined) throw new TypeError(`field-rows.ts: expected words for ${name}: its entry has none`);
  return text;
}

function tableOfSettings(): string {
  const rows = Object.entries(SETTING_ROWS).map(([name, { kind, meaning }]) => {
    const field = SETTINGS[name];
    const usual = field?.default ? quoted(field.default) : ABSENT;
    const said = meaning.replace("{{values}}", () => expectText(field && valuesOf(field), name));
    return [code(name), usual, kind === "secret" ? `Secret. ${said}` : said];
  });
  return table(["Binding", "Default", "Meaning"], rows);
}

function isNeeded(field: Field): boolean {
  return field.default === undefined && !field.isOptional;
}

function cells(name: string, field: Field, values = valuesOf(field), row: Row): string[] {
  const said = expectText(row.values ?? values, name);
  const isRequired = (["none", "tokens", "usd"] as const).every((unit) => isNeeded(inPolicyOf(unit, field)));
  const usual = field.default === undefined ? ABSENT : quoted(field.default);
  return [code(name), said, row.default ?? usual, `${row.meaning}${isRequired ? ". Required" : ""}`];
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
  return lines.join("\n").replace(/^\| --- .*$/m, (line) => line.replaceAll(" ", ""));
}

function tableOf(what: string, fields: Fields, rows: Readonly<Record<string, Row>>): string {
  const all = Object.entries(fields).map(([name, field]) => cells(name, field, undefined, rows[name]!));
  return table([what, "Values", "Default", "Meaning"], all);
}

function tableOfLimits(): string {
  const rows = LIMIT_FIELDS.map(({ name, owners, field }) => {
    const without = LIMITS.map(([algorithm]) => algorithm).filter((one) =>
      owners.every(({ algorithm }) => algorithm !== one),
    );
    const values = valuesOf(field);
    const others = owners.filter((one) => valuesOf(one.field) !== values);
    const all = [values, ...others.map((one) => `${code(one.algorithm)}: ${valuesOf(one.field)}`)].join("; ");
    const [first = "", ...rest] = cells(name, field, all, LIMIT_ROWS[name as keyof typeof LIMIT_ROWS]);
    const owned = owners.map(({ algorithm }) => code(algorithm)).join(", ");
    const most = without.length === 0 ? "all" : `all but ${without.map(code).join(", ")}`;
    return [first, owners.length > LIMITS.length / 2 ? most : owned, ...rest];
  });
  return table(["Field of a limit", "Algorithm", "Values", "Default", "Meaning"], rows);
}

function errors(): string {
  const ofLimits = LIMIT_FIELDS.map(({ name, field }) => [name, field] as const);
  const fields = [...Object.entries<Field>(FIELDS), ...ofLimits, ...Object.entries(SETTINGS)];
  const sentences = new Map(fields.map(([name, field]) => [name, sentenceOf(name, field)]));
  const fieldOf = new Map<MistakeCode, string>(fields.map(([name]) => [codeOf(name), name]));
  return mistakeCodes()
    .map((code) => {
      const said = (ERRORS[code] ?? `{{${fieldOf.get(code)}}}.`).replaceAll(/\{\{(\w+)\}\}/g, (_, name) =>
        expectText(sentences.get(name), name),
      );
      return `### \`${code}\`\n\n${said.split("\n\n").map(filled).join("\n\n")}`;
    })
    .join("\n\n");
}

/** A paragraph in lines of at most 120 columns. A block of code stays as it is. */
function filled(paragraph: string): string {
  if (paragraph.startsWith("```")) return paragraph;
  const lines: string[] = [];
  for (const word of paragraph.split(" ")) {
    const line = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && line.length <= COLUMNS) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines.join("\n");
}

/** By page, and by the name in its marks. */
const PARTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docs/configuration.md": {
    bindings: tableOfSettings(),
    "fields of a policy": tableOf("Field", FIELDS, POLICY_ROWS),
    "fields of a limit": tableOfLimits(),
    "fields of a meter": tableOf("Field of a meter", fieldsOfTable(FIELDS.meter), METER_ROWS),
    "fields of a ban": tableOf("Field of a ban", fieldsOfTable(FIELDS.ban), BAN_ROWS),
    "fields of a refusal": tableOf("Field of a refusal", fieldsOfTable(FIELDS.refusal), REFUSAL_ROWS),
  },
  "docs/errors.md": { codes: errors() },
};

/** The page with its generated parts. */
export function generate(page: string, text: string): string {
  return Object.entries(PARTS[page]!).reduce((text, [name, part]) => {
    const [begin, end] = [`<!-- ${name}: written by npm run docs:fields -->`, `<!-- end of the ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`${page}: expected the marks ${begin} and ${end}`);
    return `${text.slice(0, from)}${begin}\n\n${part}\n\n${text.slice(to)}`;
  }, text);
}

if (import.meta.main) {
  for (const page of Object.keys(PARTS)) {
    const file = new URL(`../../${page}`, import.meta.url);
    const text = readFileSync(file, "utf8");
    const generated = generate(page, text);
    if (!process.argv.includes("--check")) writeFileSync(file, generated);
    else if (text !== generated) {
      console.error(`${page} is not what the fields say: run \`npm run docs:fields\`.`);
      process.exitCode = 1;
    }
  }
}
