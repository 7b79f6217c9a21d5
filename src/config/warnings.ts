/** Warnings: the configuration is allowed, but probably not what was meant. */

import type { Match, Policy } from "../core/policy.ts";
import { ANY, parsePattern } from "../pattern/pattern.ts";
import { sharedWarnings } from "./fields/consistency.ts";
import { countsByAddress, type IsGuarded, keyWarnings, listWarnings } from "./fields/key.ts";
import { exemptWarnings } from "./fields/match.ts";
import { onceWarnings } from "./fields/once.ts";
import { overflowWarnings } from "./fields/overflow.ts";
import { planWarnings } from "./fields/plans.ts";
import { areApart } from "./policies.ts";
import type { Settings } from "./settings.ts";

export function policyWarnings(policies: readonly Policy[]): string[] {
  const matched = policies.filter(({ isOverflow }) => !isOverflow);
  const isGuarded = guardedBy(matched.filter(({ key, mode }) => countsByAddress(key) && mode === "enforce"));
  // An overflow is asked about the requests of the policy that matched.
  const asked = matched.flatMap((policy) => [
    policy,
    ...(policy.chain ?? []).map((link) => ({ ...link, match: policy.match, except: policy.except ?? [] })),
  ]);
  const warnings = asked.flatMap((policy) => [
    ...keyWarnings(policy, isGuarded),
    ...listWarnings(policy),
    ...planWarnings(policy, isGuarded),
    ...exemptWarnings(policy),
    ...sharedWarnings(policy),
    ...onceWarnings(policy),
    ...overflowWarnings(policy),
  ]);
  return [...new Set(warnings)];
}

/** The regions of requests without a name in `REGIONS`: Cloudflare's codes of continents, and the unknown region. */
const UNNAMED_REGIONS = ["AF", "AN", "AS", "EU", "NA", "OC", "SA", "local"];

/**
 * A Redis of a region that no request has is never asked: its limits count in the shared ones. With `REGION` other
 * gateways may have the other regions.
 */
export function regionWarnings({ redis, region, regions }: Pick<Settings, "redis" | "region" | "regions">): string[] {
  if (region !== undefined) return [];
  const names = new Set([...UNNAMED_REGIONS, ...Object.values(regions).flatMap((table) => Object.values(table))]);
  return (redis?.nodes ?? [])
    .filter((node) => node.region !== undefined && !names.has(node.region))
    .map(
      ({ name, region }) =>
        `the node ${name} is not used: no request has the region ${region} (without REGION and REGIONS it is the code of the continent, such as EU)`,
    );
}

/** Only an admin can read what a refusal's token explains. */
export function explainWarnings({ explain, admin }: Pick<Settings, "explain" | "admin">): string[] {
  if (!explain || admin) return [];
  return ["EXPLAIN is on, but without ADMIN_TOKEN or ACCESS_TEAM nobody could read a token"];
}

/**
 * Makes a function that says whether one of `guards` surely matches every request that a policy matches. Paths come
 * first: the first request of an isolate waits for the warnings, and most pairs of policies differ in their paths.
 */
function guardedBy(guards: readonly Policy[]): IsGuarded {
  const reachesOf = ({ path = ["*"] }: Match) => path.map(reachOf);
  let known: { readonly guard: Policy; readonly reaches: readonly string[] }[] | undefined;
  return (policy) => {
    known ??= guards.map((guard) => ({ guard, reaches: reachesOf(guard.match) }));
    const { match } = policy;
    const paths = reachesOf(match);
    return known.some(
      ({ guard, reaches }) =>
        guard !== policy &&
        paths.every((path) => reaches.some((reach) => holds(reach, path))) &&
        coversAllButPath(guard.match, match) &&
        leavesOutNoMore(guard, policy),
    );
  };
}

/** The paths that a pattern matches, in one form: all, `/v1/*`, or a path with a slash at its end. */
function reachOf(path: string): string {
  const parsed = parsePattern(path, "path");
  if (parsed === ANY || parsed === `/${ANY}`) return ANY;
  return parsed.endsWith("/") || parsed.endsWith(`/${ANY}`) ? parsed : `${parsed}/`;
}

/** Whether one reach has all paths of another: `/v1/*` matches `/v1`, and `/login` matches `/login/`. */
function holds(reach: string, other: string): boolean {
  return reach === ANY || reach === other || (reach.endsWith(`/${ANY}`) && other.startsWith(reach.slice(0, -1)));
}

function coversAllButPath(guard: Match, match: Match): boolean {
  const coversHost: Covers = (guard, match) =>
    guard === "*" || parsePattern(guard, "host") === parsePattern(match, "host");
  return (
    coversField(guard.method, match.method, (a, b) => a === b || (a === "GET" && b === "HEAD")) &&
    coversField(guard.host, match.host, coversHost) &&
    coversCalls(guard.rpc, match.rpc) &&
    coversCalls(guard.tool, match.tool)
  );
}

/** Requests without a body call nothing: a condition on calls never covers one that is absent. */
function coversCalls(guard: readonly string[] | undefined, match: readonly string[] = []): boolean {
  return guard === undefined || (match.length > 0 && match.every((one) => guard.includes(one)));
}

/** Whether the policy leaves out, or never matches, all that its guard leaves out. */
function leavesOutNoMore({ except: guards = [] }: Policy, { match, except = [] }: Policy): boolean {
  const coversPath: Covers = (guard, match) => holds(reachOf(guard), reachOf(match));
  const covers = (guard: Match, match: Match) =>
    coversAllButPath(guard, match) && coversField(guard.path, match.path, coversPath);
  return guards.every((one) => areApart(match, one) || except.some((own) => covers(own, one)));
}

type Covers = (guard: string, match: string) => boolean;

/** @param match absent: everything, like `*`. */
function coversField(
  guard: readonly string[] | undefined,
  match: readonly string[] | undefined = ["*"],
  coversOne: Covers,
): boolean {
  return guard === undefined || match.every((one) => guard.some((other) => coversOne(other, one)));
}
