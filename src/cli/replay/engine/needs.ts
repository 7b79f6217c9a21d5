/** What a policy needs from a log. A policy whose need the log lacks is not replayed: nothing is guessed. */

import type { Settings } from "../../../config/settings.ts";
import { isConcurrency } from "../../../core/concurrency.ts";
import type { Match, Policy } from "../../../core/policy.ts";
import { KEY_DESCRIPTIONS, sourceOf } from "../../../keys/sources.ts";
import type { Carried, Needed } from "../log/format.ts";

interface Need {
  readonly needed: Needed;
  /** The part of the policy that needs it. */
  readonly part: string;
}

export interface NeedOptions {
  readonly carried: Carried;
  /** Whether the lines hold policies, keys and costs: nothing is matched or read then. */
  readonly isRecorded: boolean;
  /** Key parts that no request has. */
  readonly absent: readonly string[];
  /** Policies that are left out, and why, by name. */
  readonly leftOut?: ReadonlyMap<string, string>;
}

/**
 * The policies that cannot be replayed, and why, by name. Those of a chain are replayed together or not at all: without
 * the counts of one of them, nobody knows who pays.
 */
export function skippedOf(settings: Settings, options: NeedOptions): Map<string, string> {
  const { policies } = settings;
  const skipped = new Map<string, string>();
  for (const policy of policies) {
    const reason = whySkipped(policy, settings, options);
    if (reason !== undefined) skipped.set(policy.name, reason);
  }
  for (let before = -1; before < skipped.size; ) {
    before = skipped.size;
    for (const { name, overflow } of policies) {
      if (!overflow || skipped.has(name) === skipped.has(overflow)) continue;
      if (skipped.has(name)) skipped.set(overflow, `it is the overflow of ${name}, which is not replayed`);
      else skipped.set(name, `its overflow ${overflow} is not replayed`);
    }
  }
  return skipped;
}

/** Why the policy cannot be replayed, in words. Undefined: it can. */
function whySkipped(
  policy: Policy,
  settings: Settings,
  { carried, isRecorded, absent, leftOut }: NeedOptions,
): string | undefined {
  const known = leftOut?.get(policy.name);
  if (known !== undefined) return known;
  const needs = [...(isRecorded ? [] : readNeeds(policy, settings, absent)), ...answerNeeds(policy)];
  for (const { needed, part } of needs) {
    const field = carried.lacks(needed);
    if (field !== undefined) return `${part} needs ${field}, which the log does not have`;
  }
  return undefined;
}

function readNeeds(policy: Policy, settings: Settings, absent: readonly string[]): Need[] {
  const { match, except = [], exempt, cost, key, plan, once, meter, limits } = policy;
  const keyParts = readKinds(key).flatMap((kind) => kind.split("+"));
  const ofKeys = keyParts.flatMap((part) => partNeeds(part, `its key ${part}`, settings, absent));
  const isRegional = limits.some(({ scope }) => scope === "region");
  return [
    ...(meter ? [{ needed: "tokens", part: "its meter" } as const] : []),
    ...matchNeeds(match, "its match"),
    ...except.flatMap((one, i) => matchNeeds(one, `its except[${i}]`)),
    ...(exempt ? [{ needed: "key ip", part: "its exempt" } as const] : []),
    ...cost.flatMap((rule, i) => matchNeeds(rule, `its cost[${i}]`)),
    ...ofKeys,
    ...(plan === undefined ? [] : partNeeds(plan, `its plan ${plan}`, settings, absent)),
    ...(once ? partNeeds(once.source, `its once ${once.source}`, settings, absent) : []),
    ...(isRegional ? regionNeeds(settings, "its scope region") : []),
  ];
}

function answerNeeds({ limits, count }: Policy): Need[] {
  return [
    ...(limits.some(isConcurrency) ? [{ needed: "duration", part: "its algorithm concurrency" } as const] : []),
    ...(count ? [{ needed: "status", part: "its count" } as const] : []),
  ];
}

/** The kinds that may be read: up to the first one that every request presents. The address comes after all others. */
function readKinds(kinds: readonly string[]): readonly string[] {
  const isAlwaysPresent = (kind: string) =>
    kind.split("+").every((part) => KEY_DESCRIPTIONS[sourceOf(part)].isAlwaysPresent);
  const first = kinds.findIndex(isAlwaysPresent);
  return first < 0 ? [...kinds, "ip"] : kinds.slice(0, first + 1);
}

function partNeeds(part: string, of: string, settings: Settings, absent: readonly string[]): Need[] {
  if (absent.includes(part)) return [];
  const source = sourceOf(part);
  if (source === "global") return [];
  if (source === "region") return regionNeeds(settings, of);
  return [{ needed: source === "host" ? "host" : `key ${part}`, part: of }];
}

/** A region is known by the tables of `REGIONS`, and by the continent for what they do not name. */
function regionNeeds({ region, regions }: Settings, part: string): Need[] {
  if (region !== undefined) return [];
  const tables = [
    ["colo", regions.colo],
    ["key country", regions.country],
  ] as const;
  const needs = tables.flatMap(([needed, names]) => (Object.keys(names).length > 0 ? [{ needed, part }] : []));
  return needs.length > 0 ? needs : [{ needed: "key continent", part }];
}

function matchNeeds(match: Match, part: string): Need[] {
  const needs = { method: "method", path: "path", host: "host", rpc: "calls", tool: "calls" } as const;
  return (Object.keys(needs) as (keyof Match)[]).flatMap((field) =>
    match[field] ? [{ needed: needs[field], part: `${part}.${field}` }] : [],
  );
}
