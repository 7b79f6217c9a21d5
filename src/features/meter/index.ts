/** `meter`: what a request to a language model costs is known after its answer. */

import { body } from "../../kernel/http/body.ts";
import type { InsideFeature } from "../../kernel/limiter/feature.ts";
import type { LimiterFeature } from "../../kernel/limiter/types.ts";
import { meterFields } from "./fields.ts";
import { meter as onTheWay, providerErrors, unmetered } from "./on-the-way.ts";
import { meter as part } from "./part.ts";
import type { OnSettled } from "./settled.ts";

/**
 * Lets policies have a `meter`, which counts the tokens or the dollars of requests to language models, for
 * `features` of `createLimiter`.
 */
export function meter(): LimiterFeature {
  return meterTelling([]);
}

/** @param listeners get what the answers of language models have used. */
export function meterTelling(listeners: readonly OnSettled[]): InsideFeature {
  return {
    name: "meter",
    fields: meterFields,
    parts: [part],
    http: [onTheWay(listeners), body, unmetered, providerErrors],
  };
}
