/** `consistency = "leased"`: an isolate takes units ahead of demand. */

import type { InsideFeature } from "../../kernel/limiter/feature.ts";
import type { LimiterFeature } from "../../kernel/limiter/types.ts";
import { leasesFields } from "./fields.ts";
import { LEASES } from "./wrap.ts";

/** Lets policies have `consistency: "leased"`, for `features` of `createLimiter`. */
export function leases(): LimiterFeature {
  const feature: InsideFeature = { name: "leases", fields: leasesFields, wrap: LEASES };
  return feature;
}
