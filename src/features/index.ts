/** The features that a program of the library adds by itself (`features: [meter()]`): the gateway has all of them. */

import type { InsideFeature } from "../kernel/limiter/feature.ts";
import { leases } from "./leases/index.ts";
import { live } from "./live/index.ts";
import { meter } from "./meter/index.ts";
import { rpc } from "./rpc/index.ts";
import { shared } from "./shared/index.ts";

export function allFeatures(): readonly InsideFeature[] {
  return [meter(), rpc(), leases(), shared(), live()] as readonly InsideFeature[];
}
