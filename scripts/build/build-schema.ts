/**
 * Writes docs/wrangler.schema.json from the fields of policies. Editors use it for the policies in wrangler.toml.
 * `--check` fails if the file differs from the fields.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { FIELDS } from "../../src/features/configuration.ts";
import type { Field, Fields, Unit } from "../../src/kernel/config/fields/field.ts";
import { inPolicyOf, NUMBER } from "../../src/kernel/config/fields/read.ts";
import { DURATION } from "../../src/kernel/core/duration.ts";
import { MAX_UNITS } from "../../src/kernel/core/layout.ts";
import { toWritten } from "../../src/kernel/core/units.ts";

const OUTPUT = new URL("../../docs/wrangler.schema.json", import.meta.url);

type JsonSchema = Readonly<Record<string, unknown>>;

// JSON Schema cannot express what only code checks (patterns, divisibility, unique names). The Worker checks these.
/** @param unit what the limits of the policy count. */
function schemaOf(given: Field, unit: Unit): JsonSchema {
  const field = inPolicyOf(unit, given);
  const plain = valueSchema(field, unit);
  const schema = field.asTable ? { anyOf: [plain, schemaOf(field.asTable, unit)] } : plain;
  return field.default === undefined ? schema : { ...schema, default: field.default };
}

function valueSchema(field: Field, unit: Unit): JsonSchema {
  switch (field.is) {
    case "units":
      return orText(
        unit === "usd"
          ? { type: "number", minimum: toWritten(1, unit), maximum: toWritten(MAX_UNITS, unit) }
          : { type: "integer", minimum: 1, maximum: field.most },
      );
    case "integer":
      return orText({ type: "integer", minimum: field.least, maximum: field.most });
    case "choice":
      return orText({ enum: field.numbers, type: "number" });
    case "price":
      return orText({ type: "number", minimum: 0 });
    case "duration":
      if (!field.canBeNone) return { type: "string", pattern: DURATION.source };
      return {
        anyOf: [
          { enum: [0], type: "number" },
          { type: "string", pattern: `^0$|${DURATION.source}` },
        ],
      };
    case "word":
      return { enum: field.words, type: "string" };
    case "flag":
      return { anyOf: [{ type: "boolean" }, { enum: ["true", "false"], type: "string" }] };
    case "text":
      return { type: "string", ...(field.form && { pattern: field.form.source }) };
    case "list":
      return listSchema(field, unit);
    case "oneOrMore":
      return { anyOf: [schemaOf(field.of, unit), listSchema(field, unit)] };
    case "table":
      return tableSchema(field.fields, unit);
    case "byAlgorithm":
      return { oneOf: Object.values(field.tables).map((fields) => tableSchema(fields, unit)) };
    case "named":
      return {
        type: "object",
        ...(field.required ? { required: [field.required.name] } : { minProperties: 1 }),
        ...(field.names && { propertyNames: { pattern: field.names.form.source } }),
        additionalProperties: schemaOf(field.of, unit),
      };
    case "absent":
      return { not: {} };
  }
}

/** `--var` and JSON in a variable may bring numbers as text. */
function orText(number: JsonSchema): JsonSchema {
  return { anyOf: [number, { type: "string", pattern: NUMBER.source }] };
}

function listSchema(field: Extract<Field, { readonly is: "list" | "oneOrMore" }>, unit: Unit): JsonSchema {
  return {
    type: "array",
    items: schemaOf(field.of, unit),
    ...(!("canBeEmpty" in field) && { minItems: 1 }),
    ...(field.most !== undefined && { maxItems: field.most }),
  };
}

function tableSchema(fields: Fields, unit: Unit): JsonSchema {
  const required = Object.entries(fields).filter(([, given]) => {
    const field = inPolicyOf(unit, given);
    return field.default === undefined && !field.isOptional;
  });
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field, unit)])),
    required: required.map(([name]) => name),
    additionalProperties: false,
  };
}

function policySchema(unit: Unit): JsonSchema {
  const { meter, ...others } = FIELDS;
  if (unit === "none") return tableSchema(others, unit);
  if (meter.is !== "table") throw new TypeError("meter is no table");
  const { isOptional: _, ...required } = meter;
  const fields = { ...meter.fields, unit: { is: "word", words: [unit] } } as const;
  return tableSchema({ ...others, meter: { ...required, fields } }, unit);
}

export function generate(): string {
  const policies = {
    type: "array",
    minItems: 1,
    items: { anyOf: [policySchema("none"), policySchema("tokens"), policySchema("usd")] },
  };
  const variables = { POLICIES: { $ref: "#/definitions/policies" } };
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "wrangler.toml of a headgate gateway",
    description: "Generated from the fields of policies by scripts/build/build-schema.ts. Do not edit.",
    type: "object",
    properties: {
      vars: { type: "object", properties: variables, patternProperties: { "^POLICIES_\\d+$": variables.POLICIES } },
    },
    definitions: { policies },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

if (import.meta.main) {
  if (!process.argv.includes("--check")) {
    writeFileSync(OUTPUT, generate());
  } else if (readFileSync(OUTPUT, "utf8") !== generate()) {
    console.error("docs/wrangler.schema.json is not what the fields say: run `npm run build:schema`.");
    process.exitCode = 1;
  }
}
