/** `consistency = "shared"`: an isolate decides by its part of a limit. */

import type { InsideFeature } from "../../kernel/limiter/feature.ts";
import type { LimiterFeature } from "../../kernel/limiter/types.ts";
import { sharedFields } from "./fields.ts";
import { sharedWarns } from "./warn.ts";
import { SHARED } from "./wrap.ts";

/** Lets policies have `consistency: "shared"` and `sync`, for `features` of `createLimiter`. */
export function shared(): LimiterFeature {
  const feature: InsideFeature = { name: "shared", fields: sharedFields, wrap: SHARED, http: [sharedWarns] };
  return feature;
}
