/** All features, for the gateway. */

import type { InsideFeature } from "../limiter/feature.ts";
import { leases } from "./leases.ts";
import { live } from "./live.ts";
import { meter } from "./meter.ts";
import { rpc } from "./rpc.ts";
import { shared } from "./shared.ts";

export function allFeatures(): readonly InsideFeature[] {
  return [meter(), rpc(), leases(), shared(), live()] as readonly InsideFeature[];
}
