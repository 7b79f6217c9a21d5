/** `consistency = "leased"`: an isolate takes units ahead of demand. */

import { leasesFields } from "../config/fields/leases.ts";
import { LEASES } from "../isolate/flows/leased.ts";
import type { InsideFeature, LimiterFeature } from "../limiter/feature.ts";

/** Lets policies have `consistency: "leased"`, for `features` of `createLimiter`. */
export function leases(): LimiterFeature {
  const feature: InsideFeature = { name: "leases", fields: leasesFields, wrap: LEASES };
  return feature;
}
