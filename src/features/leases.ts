/** `consistency = "leased"`: an isolate takes units ahead of demand. */

import { leasesFields } from "../config/fields/leases.ts";
import type { LimiterFeature } from "../limiter/feature.ts";

/** Lets policies have `consistency: "leased"`, for `features` of `createLimiter`. */
export function leases(): LimiterFeature {
  return { name: "leases", fields: leasesFields };
}
