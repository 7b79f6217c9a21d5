/** The configuration as the clients that it binds should know it: one document, from which page, JSON and Markdown are made. */

import { formatDuration } from "../../config/duration.ts";
import { writeLimit } from "../../config/limits.ts";
import type { RateLimitHeaders, Settings } from "../../config/settings.ts";
import { Kind } from "../../core/algorithm.ts";
import { decideLimit, type LimitDecision } from "../../core/decision.ts";
import type { Limit, Match, Policy } from "../../core/policy.ts";
import { ENFORCED, Flag, take } from "../../core/take.ts";
import { addRateLimitFields } from "../headers.ts";
import { describeQuota, quotaOf } from "../quota.ts";

/** docs/limits.schema.json is this as a JSON Schema. */
export type LimitsDocument = ReturnType<typeof describeLimits>;
export type PolicyDocument = LimitsDocument["regions"][number]["policies"][number];

type Described = Pick<Settings, "policies" | "redis" | "region" | "regions" | "rateLimitHeaders">;

/** Whether clients are told of a policy: not if the operator said so, nor while it is only tried out. */
export function isDocumented({ documented, mode }: Policy): boolean {
  return documented && mode === "enforce";
}

/** @param region the one that answers; absent in a copy that is published elsewhere. */
export function describeLimits(settings: Described, region?: string) {
  const { policies, rateLimitHeaders } = settings;
  // A copy is made where the secrets of the deployed gateway are not, its Redis among them.
  const central = settings.redis !== undefined || region === undefined;
  const documented = policies.filter(isDocumented);
  const described = documented.map((policy) => describePolicy(policy, central));
  const names = [...new Set([...(region === undefined ? [] : [region]), ...regionNames(settings)])];
  return {
    ...(region !== undefined && { region }),
    central,
    // All regions run one configuration; what differs is where a limit with scope "region" counts.
    regions: (names.length > 0 ? names : ["every region"]).map((name) => ({ name, policies: described })),
    headers: exampleFields(documented[0], rateLimitHeaders),
  };
}

/** Names of the regions that this configuration knows, in the order of its tables. */
function regionNames({ region, regions }: Described): string[] {
  if (region !== undefined) return [region];
  return [...new Set(Object.values(regions).flatMap((names) => Object.values<string>(names)))];
}

function describePolicy(policy: Policy, central: boolean) {
  const { name, match, key, cost, limits, consistency, onStoreFailure } = policy;
  return {
    name,
    match,
    requests: describeMatch(match),
    key,
    countedPer: describeKey(key),
    limits: limits.map((limit) => ({
      id: limit.id,
      ...writeLimit(limit),
      ...quotaOf(limit),
      description: describeQuota(limit),
      promise: promiseOf(limit),
    })),
    cost: cost.map((rule) => ({ ...rule, requests: describeMatch(rule) })),
    defaultCost: 1,
    consistency: { mode: consistency, meaning: central ? CONSISTENCY[consistency] : UNSHARED },
    storeFailure: { mode: onStoreFailure, meaning: STORE_FAILURE[onStoreFailure] },
  };
}

const CONSISTENCY = {
  strict: "Every admitted request was counted centrally first",
  leased: "Units are taken ahead of demand, never more than the limit; more may seem left than is",
};

const UNSHARED =
  "No central store: each running copy of the server counts by itself, from zero, so that more may be admitted in all";

const STORE_FAILURE = {
  local: "each location goes on limiting with counts of its own",
  allow: "requests are not limited until it is back",
  deny: "requests are answered 503 with Retry-After",
};

/** For people: `POST /login on example.com`. */
export function describeMatch({ method, path, host }: Match): string {
  const parts = [method?.join(", "), path?.join(", "), host && `on ${host.join(", ")}`];
  return parts.filter((part) => part).join(" ") || "every request";
}

const KINDS: Readonly<Record<string, string>> = {
  ip: "address",
  bearer: "bearer token",
  asn: "network",
  global: "all clients together",
};

/** For people: `bearer token, else address`. What is not presented ends at the address (http/key.ts). */
function describeKey(key: readonly string[]): string {
  const always = ["ip", "host", "region", "global"];
  const kinds = always.includes(key.at(-1)!) ? key : [...key, "ip"];
  const describeKind = (kind: string) =>
    kind
      .split("+")
      .map((part) => KINDS[part] ?? part.replace(":", " "))
      .join(" and ");
  return kinds.map(describeKind).join(", else ");
}

/** What an algorithm promises, with the numbers of this limit. */
function promiseOf(limit: Limit): string {
  const most = limit.limit;
  const { window } = writeLimit(limit) as { window: string };
  switch (limit.kind) {
    case Kind.weighted: {
      const surely = formatDuration(limit.bucketMs * (limit.buckets - 1));
      const span = limit.buckets > 1 ? `never more than ${most} in any ${surely}` : "older requests fade out evenly";
      return `${span}, at worst ${2 * most - 1} in one ${window}, when a burst ends a bucket`;
    }
    case Kind.whole:
      return `never more than ${most} in any ${window}; a unit returns up to ${formatDuration(limit.bucketMs)} late`;
    case Kind.fixedWindow:
      return `never more than ${most} in one ${window} window of the clock, up to ${2 * most} across a boundary`;
    case Kind.log:
      return `never more than ${most} in any ${window}, and every unit returns exactly on time`;
    case Kind.bucket: {
      const held = limit.maxDelayMs > 0 ? `; may be held for up to ${formatDuration(limit.maxDelayMs)} first` : "";
      return `at most ${limit.burst} at once, refilled by ${most} per ${window}, continuously${held}`;
    }
    case Kind.concurrency:
      return `at most ${most} in flight; a lost one is freed after ${formatDuration(limit.timeoutMs)}`;
  }
}

/** A fixed instant, so that the document and its ETag do not change with time. */
const EXAMPLE_AT_MS = 1_800_000_000_000;

/** The fields of an answer to the first request of a client, by the code that decides and writes them for every answer. */
function exampleFields(policy: Policy | undefined, mode: RateLimitHeaders): Record<string, string> {
  const headers = new Headers();
  const names = addRateLimitFields(headers, mode, policy ? firstDecisions(policy) : [], EXAMPLE_AT_MS);
  return Object.fromEntries(names.map((name) => [name, headers.get(name)!]));
}

function firstDecisions(policy: Policy): LimitDecision[] {
  const { limits } = policy;
  const nothing = { records: () => undefined, value: () => undefined };
  const keys = [{ key: "", group: ENFORCED, cost: 1, limits }];
  const { reply } = take(nothing, { keys, flag: Flag.take, slot: 1 }, EXAMPLE_AT_MS);
  return limits.map((limit, l) => decideLimit(policy, limit, reply.keys[0]![l]!, 1, EXAMPLE_AT_MS));
}
