/**
 * Writes docs/wrangler.schema.json from the validator's own schema. Editors use it for the policies in wrangler.toml.
 * `--check` fails if the file differs from the validator's schema.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { type ConversionConfig, type JsonSchema, toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { BOUNDS, LIMIT_SCHEMAS, METERED_LIMIT_SCHEMAS, SCHEMAS } from "../../src/config/policy-schema.ts";
import { MAX_UNITS } from "../../src/core/layout.ts";

const OUTPUT = new URL("../../docs/wrangler.schema.json", import.meta.url);

const text = (pattern: string) => ({ type: "string", pattern });
const integer = (minimum: number) => ({
  anyOf: [{ type: "integer", minimum, maximum: MAX_UNITS }, text("^\\d{1,10}$")],
});
const price = { anyOf: [{ type: "number", minimum: 0 }, text("^\\d{1,10}(\\.\\d{1,20})?$")] };
const prices = {
  type: "object",
  required: ["input", "output"],
  properties: { input: price, cachedInput: price, output: price },
  additionalProperties: false,
};
const meterOf = (unit: string, more: object, required: readonly string[]) => ({
  type: "object",
  required: ["unit", ...required],
  properties: {
    unit: { const: unit },
    maxOutput: { ...integer(1), default: 4_096 },
    perImage: { ...integer(0), default: 1_000 },
    onExceeded: { enum: ["finish", "cut"], default: "finish" },
    ...more,
  },
  additionalProperties: false,
});
/** By unit. src/config/meter.ts checks the fields of a meter without valibot. */
const METERS = {
  tokens: meterOf("tokens", {}, []),
  usd: meterOf(
    "usd",
    {
      prices: {
        type: "object",
        required: ["default"],
        propertyNames: { pattern: "^[\\w*.:/@+-]{1,128}$" },
        additionalProperties: prices,
      },
    },
    ["prices"],
  ),
};

/** Valibot's converter does not see what code checks. Undefined: nothing is added. */
function bounded(schema: v.GenericSchema, json: JsonSchema): JsonSchema | undefined {
  const bounds = BOUNDS.get(schema);
  if (bounds === undefined) return undefined;
  if (bounds instanceof RegExp) return { ...json, pattern: bounds.source };
  if ("anyOf" in bounds) return { anyOf: bounds.anyOf.map((one) => convert(one)) };
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
  const table = (items: object) => ({ type: "object" as const, minProperties: 1, additionalProperties: items });

  /** @param unit of the policy's meter. @param limits the schemas of its limits by algorithm. */
  const policyOf = (unit: keyof typeof SCHEMAS, limits: object) => {
    const { policy, limit, number, plans } = SCHEMAS[unit];
    const [anyLimit, planned] = [convert(v.variant("algorithm", Object.values(limits) as never)), convert(number)];
    const { properties, required, ...rest } = convert(policy, {
      // Code chooses the schema of a limit. The names of plans are the operator's own.
      overrideSchema(context) {
        if (context.valibotSchema === limit) return anyLimit;
        return context.valibotSchema === plans ? table(table(planned)) : options.overrideSchema!(context);
      },
    });
    const { meter: _, ...others } = properties!;
    if (unit === "none") return { ...rest, properties: others, required };
    return { ...rest, properties: { ...others, meter: METERS[unit] }, required: [...required!, "meter"] };
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
