/** The document of limits for clients, and texts for it. The page, the JSON and the Markdown are made from it. */

import { WORDS } from "../../features/index.ts";
import { STORE_FAILURE_MEANINGS } from "../../kernel/config/fields/basics.ts";
import type { Said } from "../../kernel/config/fields/field.ts";
import { describeKey } from "../../kernel/config/fields/key.ts";
import { writeLimit } from "../../kernel/config/fields/limits.ts";
import { describeMatch } from "../../kernel/config/fields/match.ts";
import type { RateLimitHeaders, Settings } from "../../kernel/config/settings.ts";
import { NAMED } from "../../kernel/core/algorithms.ts";
import { decideLimit, type LimitDecision } from "../../kernel/core/decision.ts";
import type { Limit, Policy } from "../../kernel/core/policy.ts";
import { ENFORCED, Flag, take } from "../../kernel/core/take.ts";
import { toWritten } from "../../kernel/core/units.ts";
import { addRateLimitFields } from "../../kernel/http/headers.ts";
import { describeQuota, quotaOf } from "../../kernel/http/quota.ts";
import { withNumbers } from "../../kernel/limiter/numbers.ts";

/** docs/limits.schema.json is the JSON Schema of this type. */
export type LimitsDocument = ReturnType<typeof describeLimits>;

type Described = Pick<Settings, "policies" | "redis" | "counts" | "region" | "regions" | "rateLimitHeaders">;

/** Whether clients see a policy: not with `documented = false`, and not in shadow. */
export function isDocumented({ documented, mode }: Policy): boolean {
  return documented && mode === "enforce";
}

/** @param region the region that answers; absent in a copy that is published elsewhere. */
export function describeLimits(settings: Described, region?: string) {
  const { policies, rateLimitHeaders } = settings;
  // A copy is made without the gateway's secrets: whether there is a central store is not known, and one is assumed.
  const central = settings.redis !== undefined || settings.counts !== undefined || region === undefined;
  const documented = policies.filter(isDocumented);
  const described = documented.map((policy) => describePolicy(policy, documented, central));
  const names = [...new Set([...(region === undefined ? [] : [region]), ...regionNames(settings)])];
  return {
    ...(region !== undefined && { region }),
    central,
    // All regions run one configuration. A limit with scope "region" counts in each of them.
    regions: (names.length > 0 ? names : ["every region"]).map((name) => ({ name, policies: described })),
    headers: exampleFields(documented.find(({ isOverflow }) => !isOverflow) ?? documented[0], rateLimitHeaders),
  };
}

/** Names of the regions that this configuration knows, in the order of its tables. */
function regionNames({ region, regions }: Described): string[] {
  if (region !== undefined) return [region];
  return [...new Set(Object.values(regions).flatMap((names) => Object.values<string>(names)))];
}

/** @param documented all policies that clients see. */
function describePolicy(given: Policy, documented: readonly Policy[], central: boolean) {
  const { policy, before } = asAsked(given, documented);
  const { name, match, except, key, limits, plans = {}, consistency, onStoreFailure } = policy;
  const ownRequests = [describeMatch(match), ...(except ?? []).map((one) => `but not ${describeMatch(one)}`)];
  const planned = Object.entries(plans).map(([name, numbers]) => ({
    name,
    limits: withNumbers(policy, numbers).limits.map(describeNumbers),
  }));
  return {
    name,
    match,
    ...(except && { except }),
    requests: (before ? [before] : ownRequests).join(", "),
    key,
    countedPer: describeKey(key),
    limits: limits.map((limit) => ({
      ...writeLimit(limit),
      ...describeNumbers(limit),
      promise: NAMED[limit.algorithm].promise(limit),
    })),
    ...(planned.length > 0 && { plans: planned }),
    cost: policy.cost.map((rule) => ({ ...rule, requests: describeMatch(rule) })),
    // Of limits with a unit of their own the cost is not known before.
    ...(limits.every(({ unit }) => unit === undefined) && { defaultCost: 1 }),
    ...membersOf(policy, documented),
    consistency: { mode: consistency, meaning: central ? CONSISTENCIES[consistency]! : UNSHARED },
    storeFailure: { mode: onStoreFailure, meaning: STORE_FAILURE_MEANINGS[onStoreFailure] },
  };
}

/** What the features tell of a policy. The page itself looks at who pays next. */
function membersOf(
  policy: Policy,
  documented: readonly Policy[],
): { readonly overflow?: { readonly policy: string; readonly meaning: string } } {
  return Object.assign({}, ...WORDS.map(({ tell }) => tell?.(policy, documented)));
}

/** What the words of `consistency` mean. */
const CONSISTENCIES: Readonly<Record<string, string>> = Object.assign(
  { strict: "Every request is counted centrally before it is admitted" },
  ...WORDS.map(({ consistency }) => consistency),
);

/** An overflow with what it takes over, and which requests it is asked about: clients do not see its own `match`. */
function asAsked(policy: Policy, documented: readonly Policy[]): { policy: Policy; before?: string } {
  if (!policy.isOverflow) return { policy };
  const { name, limits } = policy;
  const before = documented.filter(({ overflow }) => overflow === name).map((one) => one.name);
  const links = documented.flatMap(({ chain = [], isOverflow }) => (isOverflow ? [] : chain));
  const link = links.find((one) => one.name === name);
  const of = before.length > 0 ? `requests over the limits of ${before.join(" and ")}` : "requests over other limits";
  return { policy: link ? { ...link, limits } : policy, before: of };
}

function describeNumbers(limit: Limit) {
  const { quota, ...window } = quotaOf(limit);
  const written = (units: number) => toWritten(units, limit.unit);
  return {
    ...{ id: limit.id, limit: written(limit.limit), quota: written(quota), ...window },
    description: describeQuota(limit),
  };
}

const UNSHARED =
  "There is no central store: each server process counts on its own, from zero, so all together may admit more";

/** A fixed instant, so that the document and its ETag do not change with time. */
const EXAMPLE_AT_MS = 1_800_000_000_000;

/** The fields in the answer to a client's first request, made by the code that makes them for every answer. */
function exampleFields(policy: Policy | undefined, mode: RateLimitHeaders): Record<string, string> {
  const headers = new Headers();
  const names = addRateLimitFields(headers, mode, policy ? firstDecisions(policy) : [], EXAMPLE_AT_MS);
  return Object.fromEntries(names.map((name) => [name, headers.get(name)!]));
}

function firstDecisions(policy: Policy): LimitDecision[] {
  const { limits } = policy;
  const keys = [{ key: "", group: ENFORCED, cost: 1, limits }];
  const { reply } = take(() => undefined, { keys, flag: Flag.take, slot: 1 }, EXAMPLE_AT_MS);
  return limits.map((limit, l) => decideLimit(policy, limit, reply.keys[0]![l]!, 1, EXAMPLE_AT_MS));
}

/** A part of a field, the field that it belongs to, and what it means. */
export const FIELDS: readonly (readonly [part: string, field: string, meaning: string])[] = [
  [
    "q, w",
    "RateLimit-Policy",
    "The quota, and its window in seconds. Once used up, it is full again after at most twice as long.",
  ],
  [
    "r, t",
    "RateLimit",
    "What is left, and the seconds until there is more. No t: the quota is full, or depends on other requests.",
  ],
  [
    "X-RateLimit-…",
    "X-RateLimit-Limit",
    "The same for the limit with the least left. Reset: when there is more, in epoch seconds.",
  ],
];

/** Cloudflare's codes are the names of regions unless others are configured. `NA` alone looks like an empty cell. */
const CONTINENTS: Readonly<Record<string, string>> = {
  AF: "Africa",
  AN: "Antarctica",
  AS: "Asia",
  EU: "Europe",
  NA: "North America",
  OC: "Oceania",
  SA: "South America",
};

/** For people: `NA (North America)`, or the name as it is. */
export function describeRegion(name: string): string {
  return Object.hasOwn(CONTINENTS, name) ? `${name} (${CONTINENTS[name]})` : name;
}

/** Whether any limit counts per region. Without such a limit clients need not know of regions. */
export function isRegional({ regions }: LimitsDocument): boolean {
  return regions[0]!.policies.some(({ limits }) => limits.some(({ scope }) => scope === "region"));
}

/** What each limit is on each plan, for the policies that have plans. Undefined: no policy has any. */
export function planTable({ regions }: LimitsDocument) {
  const policies = regions[0]!.policies.filter(({ plans }) => plans);
  const names = [...new Set(policies.flatMap(({ plans = [] }) => plans.map(({ name }) => name)))];
  const rows = policies.flatMap(({ limits, plans = [] }) =>
    limits.map(({ id, description }, l) => ({
      id,
      cells: [
        description,
        ...names.map((of) => plans.find(({ name }) => name === of)?.limits[l]?.description ?? description),
      ],
    })),
  );
  return names.length > 0 ? { columns: ["without a plan", ...names], rows } : undefined;
}

/** The sentences of the features about this, each with its policy. */
export function sentencesOn(about: keyof Said, { regions }: LimitsDocument) {
  return regions[0]!.policies.flatMap((policy) =>
    WORDS.flatMap(({ say }) => {
      const sentence = say?.(policy)[about];
      return sentence === undefined ? [] : [{ name: policy.name, sentence }];
    }),
  );
}

/** Follows a limit that counts for all regions together, in a table with a column for each region. */
export function together(columns: readonly string[]): string {
  return columns.length > 1 ? "together" : "in all regions";
}
