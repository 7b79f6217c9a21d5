/** Warnings: the configuration is allowed, but probably not what was meant. */

import type { Match, Policy } from "../core/policy.ts";
import { KEY_DESCRIPTIONS, sourceOf } from "../keys/sources.ts";
import type { PatternKind } from "../pattern/node.ts";
import { parsePattern, writePattern } from "../pattern/parse.ts";
import type { Settings } from "./settings.ts";

export function policyWarnings(policies: readonly Policy[]): string[] {
  const byAddress = policies.filter(({ key, mode }) => countsByAddress(key) && mode === "enforce");
  return policies.flatMap((policy) => {
    const guards = byAddress.filter((guard) => covers(guard.match, policy.match) && leavesOutNoMore(guard, policy));
    return [...keyWarnings(policy, guards), ...planWarnings(policy, guards)];
  });
}

/**
 * A client can change the keys that it chooses itself: a policy on such keys limits only clients that keep them,
 * unless a policy that counts by address matches the same requests.
 */
function keyWarnings({ name, key }: Policy, guards: readonly Policy[]): string[] {
  if (!key.some(isChosen) || guards.length > 0) return [];
  return [
    `policy ${name} counts by ${key.find(isChosen)}, which a client can change at will: add a policy with key "ip" for the same requests`,
  ];
}

/** A client that names its own plan takes the largest. A plan outside of the key can change with every request. */
function planWarnings(policy: Policy, guards: readonly Policy[]): string[] {
  const { name, key, plan } = policy;
  if (plan === undefined) return [];
  if (isChosen(plan) && !guards.some((guard) => guard !== policy)) {
    return [
      `policy ${name} reads plans from ${plan}, which a client can change at will: set it in front of the gateway, and add a policy with key "ip" for the same requests`,
    ];
  }
  if (key.every((kind) => kind.split("+").includes(plan))) return [];
  return [
    `policy ${name} reads plans from ${plan}, which is no part of its key: requests that count together may name different plans`,
  ];
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

function isChosen(kind: string): boolean {
  return kind.split("+").some((part) => KEY_DESCRIPTIONS[sourceOf(part)].chosenBy === "client");
}

/** A client's request always has an address: kinds after `ip` in a list are not used. */
function countsByAddress(key: readonly string[]): boolean {
  return key[0] === "ip";
}

/**
 * Whether `guard` surely matches every request that `match` matches. Patterns are compared as text: as written,
 * and in one form.
 */
function covers(guard: Match, match: Match): boolean {
  return (
    coversField(guard.method, match.method, (a, b) => a === b || (a === "GET" && b === "HEAD")) &&
    coversField(guard.host, match.host, inOneForm("host", coversHost)) &&
    coversField(guard.path, match.path, inOneForm("path", coversPath))
  );
}

/** Whether the policy leaves out all that its guard leaves out. */
function leavesOutNoMore({ except: guards = [] }: Policy, { except = [] }: Policy): boolean {
  return guards.every((one) => except.some((own) => covers(own, one)));
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

function inOneForm(kind: PatternKind, coversOne: Covers): Covers {
  const written = (pattern: string) => writePattern(parsePattern(pattern, kind));
  return (guard, match) => coversOne(guard, match) || coversOne(written(guard), written(match));
}

function coversHost(guard: string, match: string): boolean {
  return guard === match || guard === "*";
}

/** `/v1/*` matches `/v1`, and `/login` matches `/login/`. */
function coversPath(guard: string, match: string): boolean {
  if (guard === "*" || guard === "/*" || withSlash(guard) === withSlash(match)) return true;
  return guard.endsWith("/*") && withSlash(match).startsWith(guard.slice(0, -1));
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
