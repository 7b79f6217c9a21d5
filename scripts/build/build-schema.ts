/**
 * Writes docs/wrangler.schema.json from the validator's own schema. Editors use it for the policies in wrangler.toml.
 * `--check` fails if the file differs from the validator's schema.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { type ConversionConfig, toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import {
  LIMIT_SCHEMAS,
  limitSchema,
  planNumber,
  plansSchema,
  policySchema,
  RANGES,
} from "../../src/config/policy-schema.ts";

const OUTPUT = new URL("../../docs/wrangler.schema.json", import.meta.url);

export function generate(): string {
  // JSON Schema cannot express what only code checks (patterns, divisibility, unique names). The Worker checks these.
  const options: ConversionConfig = {
    typeMode: "input",
    errorMode: "ignore",
    target: "draft-07",
    overrideSchema({ valibotSchema }) {
      const [minimum, maximum] = RANGES.get(valibotSchema as v.GenericSchema) ?? [];
      return minimum === undefined ? undefined : { type: "integer", minimum, maximum: maximum! };
    },
  };
  const { $schema, ...limits } = toJsonSchema(v.variant("algorithm", Object.values(LIMIT_SCHEMAS)), options);
  const { $schema: _number, ...number } = toJsonSchema(planNumber, options);
  const table = (items: object) => ({ type: "object" as const, minProperties: 1, additionalProperties: items });
  const {
    $schema: _same,
    $defs: _unused,
    ...policies
  } = toJsonSchema(v.pipe(v.array(policySchema), v.minLength(1)), {
    ...options,
    // Code chooses the schema of a limit. The converter would see only one algorithm and move it to `$defs`. The names
    // of plans are the operator's own.
    overrideSchema(context) {
      if (context.valibotSchema === limitSchema) return limits;
      return context.valibotSchema === plansSchema ? table(table(number)) : options.overrideSchema!(context);
    },
  });
  const variables = { POLICIES: { $ref: "#/definitions/policies" } };
  const schema = {
    $schema,
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
