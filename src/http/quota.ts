/** A limit as clients see it: a number of units per time. */

import { formatDuration } from "../config/duration.ts";
import { Kind, type Quota } from "../core/algorithm.ts";
import { algorithmOf } from "../core/algorithms.ts";
import { isConcurrency } from "../core/concurrency.ts";
import type { Limit } from "../core/policy.ts";

export function quotaOf(limit: Limit): Quota {
  return algorithmOf(limit).quota(limit);
}

/** For people: `600 per 1m`, `7 per 1s, at most 20 at once`, `5 at a time`. */
export function describeQuota(limit: Limit): string {
  if (isConcurrency(limit)) return `${limit.limit} at a time`;
  if (limit.kind === Kind.bucket) {
    const burst = limit.burst === limit.limit ? "" : `, at most ${limit.burst} at once`;
    return `${limit.limit} per ${formatDuration(limit.windowMs)}${burst}`;
  }
  return `${limit.limit} per ${formatDuration(quotaOf(limit).windowMs!)}`;
}

/** The quota, and where it counts. @param region the region that answers; called only for a limit per region. */
export function describeLimit(limit: Limit, region: () => string): string {
  return `${describeQuota(limit)} in ${limit.scope === "region" ? `region ${region()}` : "all regions"}`;
}
