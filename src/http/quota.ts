/** A limit as clients see it: a number of units per time. */

import { formatDuration } from "../config/duration.ts";
import { Kind, type Quota } from "../core/algorithm.ts";
import { algorithmOf } from "../core/algorithms.ts";
import { isConcurrency } from "../core/concurrency.ts";
import type { Limit } from "../core/policy.ts";
import { describeUnits } from "../core/units.ts";

export function quotaOf(limit: Limit): Quota {
  return algorithmOf(limit).quota(limit);
}

/** For people: `600 per 1m`, `7 per 1s, at most 20 at once`, `5 at a time`, `$12.50 per 1d`, `9,000 tokens per 1m`. */
export function describeQuota(limit: Limit): string {
  if (isConcurrency(limit)) return `${limit.limit} at a time`;
  const most = describeUnits(limit.limit, limit.unit);
  if (limit.kind === Kind.bucket) {
    const burst = limit.burst === limit.limit ? "" : `, at most ${describeUnits(limit.burst, limit.unit)} at once`;
    return `${most} per ${formatDuration(limit.windowMs)}${burst}`;
  }
  return `${most} per ${formatDuration(quotaOf(limit).windowMs!)}`;
}

/** The quota, and where it counts. @param region the region that answers; called only for a limit per region. */
export function describeLimit(limit: Limit, region: () => string): string {
  return `${describeQuota(limit)} in ${limit.scope === "region" ? `region ${region()}` : "all regions"}`;
}
