/** The features that a program of the library adds by itself (`features: [meter()]`): the gateway has all of them. */

import type { InsideFeature } from "../kernel/limiter/feature.ts";
import { leases } from "./leases/index.ts";
import { live } from "./live/index.ts";
import { meterTelling } from "./meter/index.ts";
import type { OnSettled } from "./meter/settled.ts";
import { rpc } from "./rpc/index.ts";
import { shared } from "./shared/index.ts";

/** @param onSettled get what the answers of language models have used. */
export function allFeatures(onSettled: readonly OnSettled[] = []): readonly InsideFeature[] {
  return [meterTelling(onSettled), rpc(), leases(), shared(), live()] as readonly InsideFeature[];
}
