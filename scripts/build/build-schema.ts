/**
 * Writes docs/wrangler.schema.json, from which an editor knows the policies in wrangler.toml, out of the validator's
 * own schema. `--check` fails if the file is not what the validator says.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { LIMIT_SCHEMAS, limitSchema, policySchema } from "../../src/config/policy-schema.ts";

const OUTPUT = new URL("../../docs/wrangler.schema.json", import.meta.url);

export function generate(): string {
  // What is checked only by code (patterns, divisibility, names taken) has no place in JSON Schema and is left to the
  // Worker.
  const options = { typeMode: "input", errorMode: "ignore", target: "draft-07" } as const;
  const { $schema, ...limits } = toJsonSchema(v.variant("algorithm", Object.values(LIMIT_SCHEMAS)), options);
  const {
    $schema: _same,
    $defs: _unused,
    ...policies
  } = toJsonSchema(v.pipe(v.array(policySchema), v.minLength(1)), {
    ...options,
    // Code finds the schema of a limit: the converter would know one algorithm only, and put it under `$defs`.
    overrideSchema: ({ valibotSchema }) => (valibotSchema === limitSchema ? limits : undefined),
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
