/** `consistency = "shared"`: an isolate decides by its part of a limit. */

import { sharedFields } from "../config/fields/shared.ts";
import type { LimiterFeature } from "../limiter/feature.ts";

/** Lets policies have `consistency: "shared"` and `sync`, for `features` of `createLimiter`. */
export function shared(): LimiterFeature {
  return { name: "shared", fields: sharedFields };
}
