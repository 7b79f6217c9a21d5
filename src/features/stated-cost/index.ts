/** `cost = { answer = "x-cost" }`: the answer says what its request has cost. */

import type { InsideFeature } from "../../kernel/limiter/feature.ts";
import type { LimiterFeature } from "../../kernel/limiter/types.ts";
import { statedCostFields, statedCostForm } from "./fields.ts";
import { statedCost as onTheWay } from "./on-the-way.ts";

/** Lets policies have `cost: { answer: "x-cost" }`, for `features` of `createLimiter`. */
export function statedCost(): LimiterFeature {
  const feature: InsideFeature = {
    name: "statedCost",
    fields: { own: statedCostFields, cost: statedCostForm },
    http: [onTheWay],
  };
  return feature;
}
