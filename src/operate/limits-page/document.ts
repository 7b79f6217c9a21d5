/** The document of limits for clients, and texts for it. The page, the JSON and the Markdown are made from it. */

import { WORDS } from "../../features/index.ts";
import { STORE_FAILURE_MEANINGS } from "../../kernel/config/fields/basics.ts";
import type { Said } from "../../kernel/config/fields/field.ts";
import { describeKey } from "../../kernel/config/fields/key.ts";
import { writeLimit } from "../../kernel/config/fields/limits.ts";
import { describeMatch } from "../../kernel/config/fields/match.ts";
import { isMailAddress, type RateLimitHeaders, type Settings } from "../../kernel/config/settings.ts";
import { NAMED } from "../../kernel/core/algorithms.ts";
import { decideLimit, type LimitDecision } from "../../kernel/core/decision.ts";
import type { Limit, Policy } from "../../kernel/core/policy.ts";
import { ENFORCED, Flag, take } from "../../kernel/core/take.ts";
import { type CountedIn, toWritten } from "../../kernel/core/units.ts";
import { addRateLimitFields } from "../../kernel/http/headers.ts";
import { quotaOf } from "../../kernel/http/quota.ts";
import { withNumbers } from "../../kernel/limiter/numbers.ts";

/** docs/limits.schema.json is the JSON Schema of this type. */
export type LimitsDocument = ReturnType<typeof describeLimits> & {
  readonly operators?: ReturnType<typeof describeForOperators>;
};

type Described = Pick<Settings, "policies" | "redis" | "counts" | "region" | "regions" | "rateLimitHeaders" | "about">;

/** Whether clients see a policy: not with `documented = false`, and not in shadow. */
export function isDocumented({ documented, mode }: Policy): boolean {
  return documented && mode === "enforce";
}

/** For clients. @param region the region that answers; absent in a copy that is published elsewhere. */
export function describeLimits(settings: Described, region?: string) {
  const { policies, rateLimitHeaders, about } = settings;
  // A copy is made without the gateway's secrets: whether there is a central store is not known, and one is assumed.
  const central = settings.redis !== undefined || settings.counts !== undefined || region === undefined;
  const documented = policies.filter(isDocumented);
  const described = documented.map((policy) => describePolicy(policy, documented));
  const names = [...new Set([...(region === undefined ? [] : [region]), ...regionNames(settings)])];
  return {
    ...about,
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
function describePolicy(given: Policy, documented: readonly Policy[]) {
  const { policy, before } = asAsked(given, documented);
  const { name, match, except, key, limits, plans = {} } = policy;
  const ownRequests = [describeMatch(match), ...(except ?? []).map((one) => `but not ${describeMatch(one)}`)];
  const planned = Object.entries(plans).map(([name, numbers]) => ({
    name,
    limits: withNumbers(policy, numbers).limits.map((limit) => describeNumbers(limit, policy)),
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
      ...describeNumbers(limit, policy),
      promise: NAMED[limit.algorithm].promise(counted(limit, policy)),
    })),
    ...(planned.length > 0 && { plans: planned }),
    cost: policy.cost.map((rule) => ({ ...rule, requests: describeMatch(rule) })),
    // Of limits with a unit of their own the cost is not known before.
    ...(limits.every(({ unit }) => unit === undefined) && { defaultCost: 1 }),
    ...membersOf(policy, documented),
  };
}

/** What would help clients to get around their limits, of each policy. */
export function describeForOperators({ policies }: Pick<Settings, "policies">) {
  return policies.filter(isDocumented).map((policy) => {
    const { name, limits, consistency, onStoreFailure } = policy;
    const worstCases = limits.flatMap((limit) => {
      const worstCase = NAMED[limit.algorithm].worstCase?.(counted(limit, policy));
      return worstCase === undefined ? [] : [{ id: limit.id, worstCase }];
    });
    return {
      name,
      worstCases,
      consistency: { mode: consistency, meaning: CONSISTENCIES[consistency]! },
      storeFailure: { mode: onStoreFailure, meaning: STORE_FAILURE_MEANINGS[onStoreFailure] },
    };
  });
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

/** A limit with what it counts, in words. */
function counted<L extends Limit>(limit: L, policy: Policy): L & { readonly unit: CountedIn } {
  const [requests = "requests"] = WORDS.flatMap(({ counted }) => counted?.(policy) ?? []);
  return { ...limit, unit: limit.unit ?? (policy.cost.length > 0 ? "units" : requests) };
}

function describeNumbers(limit: Limit, policy: Policy) {
  const { quota, ...window } = quotaOf(limit);
  const written = (units: number) => toWritten(units, limit.unit);
  return {
    ...{ id: limit.id, limit: written(limit.limit), quota: written(quota), ...window },
    description: NAMED[limit.algorithm].describe(counted(limit, policy)),
  };
}

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

/** What operators know of a policy besides, in sentences. */
export function operatorSentences({
  worstCases,
  consistency,
  storeFailure,
}: NonNullable<LimitsDocument["operators"]>[number]): string[] {
  return [
    ...worstCases.map(({ id, worstCase }) => `${id}, at worst: ${worstCase}.`),
    `${consistency.meaning}.`,
    `When the central store is down, ${storeFailure.meaning}.`,
  ];
}

/** What follows the title, in Markdown and on the page. */
export const INTRODUCTION = "Every limit that matches a request applies. A refused request costs nothing.";

/** What stands above the table of costs. */
export const COSTS = "A request costs 1 unit, except for those in this table. The first row that matches holds.";

/** What a refused client can do. What stands between backticks is code. */
export function whenRefused({ regions }: LimitsDocument): string {
  const limits = regions[0]!.policies.flatMap(({ limits }) => limits);
  const slots = limits.some(({ algorithm }) => algorithm === "concurrency")
    ? " For a limit on requests at a time nobody knows when one ends: try again every few seconds."
    : "";
  return `You get 429 with \`Retry-After\`: after that many seconds the same request, sent alone, succeeds.${slots} Add a little random time, so that clients do not all come back at once. The body (\`application/problem+json\`) names the limits in \`violated-policies\`. With \`"retry":"never"\` the request costs more than a limit allows, and can never succeed.`;
}

/** The address of a link to whom clients can ask. */
export function contactLink(contact: string): string {
  return isMailAddress(contact) ? `mailto:${contact}` : new URL(contact).href;
}

export function paragraphsOf(text = ""): string[] {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== "");
}

/** A request under the first policy, and the same with waits: curl waits as long as `Retry-After` says. */
export function curlCommands(document: LimitsDocument): readonly [once: string, waiting: string] {
  const { method, path } = sampleRequest(document);
  const request = `${method === "GET" ? "" : `-X ${method} `}${quoted(path)}`;
  return [`curl -si ${request}`, `curl -si --retry 5 ${request}`];
}

/** A path behind the base URL, for a shell. */
function quoted(path: string): string {
  if (/^[\w./-]*$/.test(path)) return `"$API${path}"`;
  return `"$API"'${path.replaceAll("'", `'\\''`)}'`;
}

/** A request that the first policy probably matches: its pattern, cut at the first wildcard. */
export function sampleRequest({ regions }: LimitsDocument): { method: string; path: string } {
  const policies = regions[0]!.policies;
  // An overflow has no match of its own: nobody sends requests to it.
  const payers = policies.map(({ overflow }) => overflow?.policy);
  const { rpc, tool, method = [], path = ["/"] } = policies.find(({ name }) => !payers.includes(name))?.match ?? {};
  const first = method[0] ?? (rpc || tool ? "POST" : "GET");
  return {
    method: method.includes("GET") ? "GET" : first,
    path: path[0]!.replace(/:\w+/g, "1").replace(/\*.*$/, "") || "/",
  };
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
