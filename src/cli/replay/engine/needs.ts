/** What a policy needs from a log. A policy whose need the log lacks is not replayed: nothing is guessed. */

import { isDeepStrictEqual } from "node:util";
import type { Settings } from "../../../config/settings.ts";
import { isConcurrency } from "../../../core/concurrency.ts";
import type { Match, Policy } from "../../../core/policy.ts";
import { KEY_DESCRIPTIONS, sourceOf } from "../../../keys/sources.ts";
import type { Needed } from "../log/format.ts";
import type { OpenLog } from "../log/open.ts";

/** A need, and the part of the policy that has it. */
type Need = readonly [needed: Needed, part: string];

/**
 * The policies that cannot be replayed, and why, by name.
 *
 * @param absent key parts that no request has.
 */
export function skippedOf(settings: Settings, log: OpenLog, absent: readonly string[]): Map<string, string> {
  const skipped = new Map<string, string>();
  for (const policy of settings.policies) {
    const needs = [...(log.isRecorded ? [] : readNeeds(policy, settings, absent)), ...answerNeeds(policy)];
    for (const [needed, part] of needs.reverse()) {
      const field = log.lacks(needed);
      if (field !== undefined) skipped.set(policy.name, `${part} needs ${field}, which the log does not have`);
    }
  }
  return skipped;
}

/** Adds whole chains: without the counts of one of its policies, nobody knows who pays. */
export function addChains(skipped: Map<string, string>, policies: readonly Policy[]): void {
  for (let before = -1; before < skipped.size; ) {
    before = skipped.size;
    for (const { name, overflow } of policies) {
      if (!overflow || skipped.has(name) === skipped.has(overflow.policy)) continue;
      const [missing, other] = skipped.has(name) ? [name, overflow.policy] : [overflow.policy, name];
      skipped.set(other, `it is of one chain with ${missing}, which is not replayed`);
    }
  }
}

/** What the gateway has asked before it wrote a line: recorded lines hold policies, keys and costs, and no requests. */
const ASKED = {
  // No request matches an overflow.
  match: ({ match, isOverflow }) => (isOverflow ? "none" : match),
  except: ({ except }) => except,
  exempt: ({ exempt }) => exempt,
  key: ({ key }) => key,
  cost: ({ cost }) => cost,
  meter: ({ meter }) => meter,
  plan: ({ plan }) => plan,
  "names of plans": ({ plans = {} }) => Object.keys(plans).sort(),
  overflow: ({ chain = [] }) => chain.map(({ name }) => name),
} satisfies Record<string, (policy: Policy) => unknown>;

/** The candidate's policies that recorded lines cannot try, and why. */
export function untried(present: readonly Policy[], candidate: readonly Policy[]): Map<string, string> {
  const reasons = new Map<string, string>();
  for (const after of candidate) {
    const before = present.find(({ name }) => name === after.name);
    const changed = Object.entries(ASKED).filter(([, of]) => before && !isDeepStrictEqual(of(before), of(after)));
    const parts = changed.map(([part]) => part).join(", ");
    if (parts) reasons.set(after.name, `it has another ${parts}, and recorded lines hold what the old one gave`);
  }
  return reasons;
}

function readNeeds(policy: Policy, settings: Settings, absent: readonly string[]): Need[] {
  const { match, except = [], exempt, cost, key, plan, once, meter, limits } = policy;
  const keyParts = readKinds(key).flatMap((kind) => kind.split("+"));
  const needs = [
    ...matchNeeds(match, "its match"),
    ...except.flatMap((one, i) => matchNeeds(one, `its except[${i}]`)),
    ...cost.flatMap((rule, i) => matchNeeds(rule, `its cost[${i}]`)),
    ...keyParts.flatMap((part) => partNeeds(part, `its key ${part}`, settings, absent)),
  ];
  if (meter) needs.push(["tokens", "its meter"]);
  if (exempt) needs.push(["key ip", "its exempt"]);
  if (plan !== undefined) needs.push(...partNeeds(plan, `its plan ${plan}`, settings, absent));
  if (once) needs.push(...partNeeds(once.source, `its once ${once.source}`, settings, absent));
  if (limits.some(({ scope }) => scope === "region")) needs.push(...regionNeeds(settings, "its scope region"));
  return needs;
}

function answerNeeds({ limits, count }: Policy): Need[] {
  const needs: Need[] = [];
  if (limits.some(isConcurrency)) needs.push(["duration", "its algorithm concurrency"]);
  if (count) needs.push(["status", "its count"]);
  return needs;
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
  return [[source === "host" ? "host" : `key ${part}`, of]];
}

/** A region is known by the tables of `REGIONS`, and by the continent for what they do not name. */
function regionNeeds({ region, regions }: Settings, part: string): Need[] {
  if (region !== undefined) return [];
  const needs: Need[] = [];
  if (Object.keys(regions.colo).length > 0) needs.push(["colo", part]);
  if (Object.keys(regions.country).length > 0) needs.push(["key country", part]);
  return needs.length > 0 ? needs : [["key continent", part]];
}

function matchNeeds(match: Match, part: string): Need[] {
  const needs = { method: "method", path: "path", host: "host", rpc: "calls", tool: "calls" } as const;
  const fields = Object.keys(needs) as (keyof Match)[];
  return fields.filter((field) => match[field]).map((field) => [needs[field], `${part}.${field}`]);
}
