/** What operators change while the limiter runs. */

import type { InsideFeature } from "../../kernel/limiter/feature.ts";
import type { LimiterFeature } from "../../kernel/limiter/types.ts";
import { createLiveReader } from "./reader.ts";

/**
 * Reads the live document of the store, every 30 s: what operators change through a gateway's admin API over the same
 * store (docs/operate.md). For `features` of `createLimiter`.
 */
export function live(): LimiterFeature {
  const feature: InsideFeature = { name: "live", liveReader: createLiveReader };
  return feature;
}
