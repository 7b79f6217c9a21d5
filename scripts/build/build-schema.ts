/**
 * Writes docs/wrangler.schema.json from the validator's own schema. Editors use it for the policies in wrangler.toml.
 * `--check` fails if the file differs from the validator's schema.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { type ConversionConfig, type JsonSchema, toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { BOUNDS, LIMIT_SCHEMAS, METERED_LIMIT_SCHEMAS, SCHEMAS } from "../../src/config/policy-schema.ts";

const OUTPUT = new URL("../../docs/wrangler.schema.json", import.meta.url);

/** Valibot's converter does not see what code checks. Undefined: nothing is added. */
function bounded(schema: v.GenericSchema, json: JsonSchema): JsonSchema | undefined {
  const bounds = BOUNDS.get(schema);
  if (bounds === undefined) return undefined;
  if (bounds instanceof RegExp) return { ...json, pattern: bounds.source };
  if ("anyOf" in bounds) return { anyOf: bounds.anyOf.map((one) => convert(one)) };
  if ("item" in bounds) {
    const { item, names, required } = bounds;
    return {
      type: "object",
      ...(required ? { required: [...required] } : { minProperties: 1 }),
      ...(names && { propertyNames: { pattern: names.source } }),
      additionalProperties: convert(item),
    };
  }
  const [min, max] = bounds;
  if (schema.type === "array") {
    return { ...json, ...(min > 0 && { minItems: min }), ...(max < Number.POSITIVE_INFINITY && { maxItems: max }) };
  }
  // Dollars have decimals.
  return { type: Number.isInteger(min) ? "integer" : "number", minimum: min, maximum: max };
}

// JSON Schema cannot express what only code checks (patterns, divisibility, unique names). The Worker checks these.
const options: ConversionConfig = {
  typeMode: "input",
  errorMode: "ignore",
  target: "draft-07",
  overrideSchema: ({ valibotSchema, jsonSchema }) => bounded(valibotSchema as v.GenericSchema, jsonSchema),
};

function convert(schema: v.GenericSchema, more: ConversionConfig = {}): JsonSchema {
  const { $schema: _, $defs: _unused, ...rest } = toJsonSchema(schema, { ...options, ...more });
  return rest;
}

export function generate(): string {
  /** @param unit of the policy's meter. @param limits the schemas of its limits by algorithm. */
  const policyOf = (unit: keyof typeof SCHEMAS, limits: object) => {
    const { policy, limit } = SCHEMAS[unit];
    const anyLimit = convert(v.variant("algorithm", Object.values(limits) as never));
    const { properties, required, ...rest } = convert(policy, {
      // Code chooses the schema of a limit.
      overrideSchema: (context) => (context.valibotSchema === limit ? anyLimit : options.overrideSchema!(context)),
    });
    const { meter, ...others } = properties! as Record<string, JsonSchema>;
    if (unit === "none") return { ...rest, properties: others, required };
    const ofUnit = { ...meter, properties: { ...meter!.properties, unit: { const: unit } } };
    return { ...rest, properties: { ...others, meter: ofUnit }, required: [...required!, "meter"] };
  };
  const policies = {
    type: "array",
    minItems: 1,
    items: {
      anyOf: [
        policyOf("none", LIMIT_SCHEMAS),
        policyOf("tokens", METERED_LIMIT_SCHEMAS.tokens),
        policyOf("usd", METERED_LIMIT_SCHEMAS.usd),
      ],
    },
  };
  const variables = { POLICIES: { $ref: "#/definitions/policies" } };
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "wrangler.toml of a headgate gateway",
    description: "Generated from src/config/policy-schema.ts by scripts/build/build-schema.ts. Do not edit.",
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
    console.error("docs/wrangler.schema.json is not what the validator says: run `npm run build:schema`.");
    process.exitCode = 1;
  }
}
