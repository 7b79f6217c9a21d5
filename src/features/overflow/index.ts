/** `overflow`: the policy that pays when another one refuses. */

import type { InsideFeature } from "../../kernel/limiter/feature.ts";
import type { LimiterFeature } from "../../kernel/limiter/types.ts";
import { overflowFields } from "./fields.ts";
import { overflow as onTheWay } from "./on-the-way.ts";
import { overflow as part } from "./part.ts";

/** Lets policies have an `overflow`, for `features` of `createLimiter`. */
export function overflow(): LimiterFeature {
  const feature: InsideFeature = { name: "overflow", fields: { own: overflowFields }, parts: [part], http: [onTheWay] };
  return feature;
}
