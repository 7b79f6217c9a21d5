/**
 * Writes docs/wrangler.schema.json from the validator's own schema. Editors use it for the policies in wrangler.toml.
 * `--check` fails if the file differs from the validator's schema.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { type ConversionConfig, type JsonSchema, toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { CHOICES, LIMIT_SCHEMAS, SCHEMAS } from "../../src/config/policy-schema.ts";

const OUTPUT = new URL("../../docs/wrangler.schema.json", import.meta.url);

/** Valibot's converter does not see which schema code chooses. Undefined: it does not choose. */
function chosen(schema: v.GenericSchema): JsonSchema | undefined {
  const choice = CHOICES.get(schema);
  if (choice === undefined) return undefined;
  if ("anyOf" in choice) return { anyOf: choice.anyOf.map((one) => convert(one)) };
  const { item, names, required } = choice;
  return {
    type: "object",
    ...(required ? { required: [...required] } : { minProperties: 1 }),
    ...(names && { propertyNames: { pattern: names.source } }),
    additionalProperties: convert(item),
  };
}

// JSON Schema cannot express what only code checks (patterns, divisibility, unique names). The Worker checks these.
const options: ConversionConfig = {
  typeMode: "input",
  errorMode: "ignore",
  target: "draft-07",
  overrideSchema: ({ valibotSchema }) => chosen(valibotSchema as v.GenericSchema),
};

function convert(schema: v.GenericSchema, more: ConversionConfig = {}): JsonSchema {
  const { $schema: _, $defs: _unused, ...rest } = toJsonSchema(schema, { ...options, ...more });
  return rest;
}

export function generate(): string {
  /** @param unit of the policy's meter. */
  const policyOf = (unit: keyof typeof SCHEMAS) => {
    const { policy, limit } = SCHEMAS[unit];
    const anyLimit = convert(v.variant("algorithm", Object.values(LIMIT_SCHEMAS[unit]) as never));
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
      anyOf: [policyOf("none"), policyOf("tokens"), policyOf("usd")],
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
