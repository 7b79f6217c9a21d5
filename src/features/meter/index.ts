/** `meter`: what a request to a language model costs is known after its answer. */

import { body } from "../../kernel/http/body.ts";
import type { InsideFeature, LimiterFeature } from "../../kernel/limiter/feature.ts";
import { meterFields } from "./fields.ts";
import { meter as onTheWay, providerErrors } from "./on-the-way.ts";

/**
 * Lets policies have a `meter`, which counts the tokens or the dollars of requests to language models, for
 * `features` of `createLimiter`.
 */
export function meter(): LimiterFeature {
  const feature: InsideFeature = { name: "meter", fields: meterFields, http: [onTheWay, body, providerErrors] };
  return feature;
}
