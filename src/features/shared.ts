/** `consistency = "shared"`: an isolate decides by its part of a limit. */

import { sharedFields } from "../config/fields/shared.ts";
import { SHARED } from "../isolate/flows/shared.ts";
import type { InsideFeature, LimiterFeature } from "../limiter/feature.ts";

/** Lets policies have `consistency: "shared"` and `sync`, for `features` of `createLimiter`. */
export function shared(): LimiterFeature {
  const feature: InsideFeature = { name: "shared", fields: sharedFields, wrap: SHARED };
  return feature;
}
