/** All features, for the gateway. */

import type { LimiterFeature } from "../limiter/feature.ts";
import { leases } from "./leases.ts";
import { live } from "./live.ts";
import { meter } from "./meter.ts";
import { rpc } from "./rpc.ts";
import { shared } from "./shared.ts";

export const allFeatures = (): readonly LimiterFeature[] => [meter(), rpc(), leases(), shared(), live()];
