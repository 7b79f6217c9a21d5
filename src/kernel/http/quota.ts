/** A limit as clients see it: a number of units per time. */

import type { Quota } from "../core/algorithm.ts";
import { algorithmOf, WORDS } from "../core/algorithms.ts";
import { formatDuration } from "../core/duration.ts";
import type { DecidedLimit } from "../core/policy.ts";

export function quotaOf(limit: DecidedLimit): Quota {
  return algorithmOf(limit).quota(limit);
}

const described = new WeakMap<DecidedLimit, string>();

/** For people: `600 per minute`, `7 per second, at most 20 at once`, `5 at a time`, `$12.50 per day`. */
export function describeQuota(limit: DecidedLimit): string {
  let text = described.get(limit);
  if (text === undefined) {
    text = WORDS[limit.algorithm].describe(limit);
    described.set(limit, text);
  }
  return text;
}

/** For operators, after the number: `per 1m`, `per month, America/Los_Angeles`, `at once, freed after 1m`. */
export function describePer(limit: DecidedLimit): string {
  const { per, valuesOf } = WORDS[limit.algorithm];
  return per?.(limit) ?? `per ${formatDuration(Number(valuesOf?.(limit).window))}`;
}

/** The quota, and where it counts. @param region the region that answers; called only for a limit per region. */
export function describeLimit(limit: DecidedLimit, region: () => string): string {
  return `${describeQuota(limit)} in ${limit.scope === "region" ? `region ${region()}` : "all regions"}`;
}
