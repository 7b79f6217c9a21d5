/** Warnings: the configuration is allowed, but probably not what was meant. */

import type { Match, Policy } from "../core/policy.ts";
import { ANY, parsePattern } from "../request/pattern.ts";
import { ADDRESSES, KEY_DESCRIPTIONS, sourceOf } from "../request/sources.ts";
import { isClaim } from "./identity.ts";
import { areApart } from "./patterns.ts";
import type { Settings } from "./settings.ts";

/** What a feature warns of. @param isGuarded whether another policy counts the same requests by address. */
export type Warn = (policy: Policy, isGuarded: () => boolean) => readonly string[];

/** @param features what single features warn of. */
export function policyWarnings(
  policies: readonly Policy[],
  features: readonly { readonly warn?: Warn | undefined }[],
): string[] {
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
    ...exemptWarnings(policy),
    ...features.flatMap(({ warn }) => warn?.(policy, () => isGuarded(policy)) ?? []),
  ]);
  return [...new Set(warnings)];
}

/** Whether another policy counts the same requests by address. */
type IsGuarded = (policy: Policy) => boolean;

/**
 * A client can change the keys that it chooses itself: a policy on such keys limits only clients that keep them,
 * unless a policy that counts by address matches the same requests.
 */
function keyWarnings(policy: Policy, isGuarded: IsGuarded): string[] {
  const { name, key } = policy;
  if (countsByAddress(key) || !key.some(isChosen) || isGuarded(policy)) return [];
  return [
    `policy ${name} counts by ${key.find(isChosen)}, which a client can change at will: add a policy with key "ip" for the same requests`,
  ];
}

/** Of a list the first kind that a request has counts: a client leaves its count by a made-up value of that kind. */
function listWarnings({ name, key }: Policy): string[] {
  const last = key.findIndex((kind) =>
    kind.split("+").every((part) => KEY_DESCRIPTIONS[sourceOf(part)].isAlwaysPresent),
  );
  const [one, other] = key.slice(0, last < 0 ? key.length : last).filter(isChosen);
  if (one === undefined || other === undefined) return [];
  return [
    `policy ${name} has ${one} and ${other} in one key, and a client can send a made-up ${one} beside its real ${other}: write two policies, one for each`,
  ];
}

/** Smaller ranges are trusted: a policy that exempts them still guards another one. */
function exemptWarnings({ name, exempt = [] }: Policy): string[] {
  return exempt
    .filter((range) => range.endsWith("/0"))
    .map(
      (range) => `policy ${name} exempts ${range}, which is every address of its kind: it limits none of these clients`,
    );
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

/** Whether a client can change it at will. */
export function isChosen(kind: string): boolean {
  return kind.split("+").some((part) => KEY_DESCRIPTIONS[sourceOf(part)].chosenBy === "client");
}

/**
 * A client's request always has an address: kinds after `ip` in a list are not used. Who shows a verified claim is
 * counted by the claim, which a client cannot change either.
 */
function countsByAddress(key: readonly string[]): boolean {
  return ADDRESSES.includes(key.find((kind) => !kind.split("+").every(isClaim)) ?? "ip");
}

/**
 * Makes a function that says whether one of `guards` surely matches every request that a policy matches. Paths come
 * first: the first request of an isolate waits for the warnings, and most pairs of policies differ in their paths.
 */
export function guardedBy(guards: readonly Policy[]): IsGuarded {
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
    coversBody(guard.rpc, match.rpc) &&
    coversBody(guard.tool, match.tool) &&
    Object.entries(guard.body ?? {}).every(([field, values]) => coversBody(values, match.body?.[field]))
  );
}

/** Requests without a body say nothing: a condition on what they say never covers one that is absent. */
function coversBody(guard: readonly string[] | undefined, match: readonly string[] = []): boolean {
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
