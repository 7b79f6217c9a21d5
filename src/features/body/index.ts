/** `body`: policies that look at what the body of a request says. */

import { body as reader } from "../../kernel/http/body.ts";
import type { InsideFeature } from "../../kernel/limiter/feature.ts";
import type { LimiterFeature } from "../../kernel/limiter/types.ts";
import { bodyFields } from "./fields.ts";
import { bodyKeys, bodyValues } from "./on-the-way.ts";

/**
 * Lets policies count by a field of the body (`key: ["body:email", "ip"]`), and have conditions on such fields in
 * `match`, `except` and `cost` (`match: { body: { model: "gpt-5*" } }`). Bodies are JSON or forms, up to 1 MiB. For
 * `features` of `createLimiter`.
 */
export function body(): LimiterFeature {
  const feature: InsideFeature = { name: "body", fields: bodyFields, http: [reader, bodyValues, bodyKeys] };
  return feature;
}
