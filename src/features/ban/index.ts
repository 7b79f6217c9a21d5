/** `ban`: clients that a policy has refused too often. */

import type { InsideFeature } from "../../kernel/limiter/feature.ts";
import type { LimiterFeature } from "../../kernel/limiter/types.ts";
import { banFields } from "./fields.ts";
import { ban as onTheWay } from "./on-the-way.ts";
import { ban as part } from "./part.ts";

/** Lets policies have a `ban`, for `features` of `createLimiter`. */
export function ban(): LimiterFeature {
  const feature: InsideFeature = { name: "ban", fields: { own: banFields }, parts: [part], http: [onTheWay] };
  return feature;
}
