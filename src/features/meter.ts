/** `meter`: what a request to a language model costs is known after its answer. */

import { meterFields } from "../config/fields/meter.ts";
import { body } from "../http/features/body.ts";
import { meter as onTheWay, providerErrors } from "../http/features/meter.ts";
import type { InsideFeature, LimiterFeature } from "../limiter/feature.ts";

/**
 * Lets policies have a `meter`, which counts the tokens or the dollars of requests to language models, for
 * `features` of `createLimiter`.
 */
export function meter(): LimiterFeature {
  const feature: InsideFeature = { name: "meter", fields: meterFields, http: [onTheWay, body, providerErrors] };
  return feature;
}
