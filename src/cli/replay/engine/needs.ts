/** What a policy needs from a log. A policy whose need the log lacks is not replayed: nothing is guessed. */

import { isDeepStrictEqual } from "node:util";
import type { Settings } from "../../../kernel/config/settings.ts";
import { isConcurrency } from "../../../kernel/core/concurrency.ts";
import type { Match, Policy } from "../../../kernel/core/policy.ts";
import { formOf, KEY_DESCRIPTIONS, sourceOf } from "../../../kernel/request/sources.ts";
import type { OpenLog } from "../log/open.ts";

/** A need as `openLog` has it, and the part of the policy that has it. */
type Need = readonly [needed: string, part: string];

/**
 * The policies that cannot be replayed, and why, by name. One that a single configuration cannot replay is left out of
 * all: in a comparison it would seem to admit everything.
 *
 * @param all the present configuration's settings, and those of candidates.
 */
export function skippedOf(all: readonly Settings[], log: OpenLog): Map<string, string> {
  const skipped = new Map<string, string>();
  for (const settings of all) {
    for (const policy of settings.policies) {
      const needs = [...(log.isRecorded ? [] : readNeeds(policy, settings)), ...answerNeeds(policy)];
      const lacking = needs.find(([needed]) => log.lacks(needed) !== undefined);
      const before = all[0]!.policies.find(({ name }) => name === policy.name);
      const changed = log.isRecorded && before ? changedParts(before, policy).join(", ") : "";
      if (lacking)
        skipped.set(policy.name, `${lacking[1]} needs ${log.lacks(lacking[0])}, which the log does not have`);
      else if (changed !== "")
        skipped.set(policy.name, `it has another ${changed}, of which recorded lines hold only results`);
    }
  }
  // Whole chains: without the counts of one of its policies, nobody knows who pays.
  const chains = all
    .flatMap(({ policies }) => policies)
    .map((policy) => [policy, ...(policy.chain ?? [])].map(({ name }) => name));
  // Two configurations may have different chains: as often as one policy can be the reason for another.
  for (const names of chains.flatMap(() => chains)) {
    const missing = names.find((name) => skipped.has(name));
    const others = missing === undefined ? [] : names.filter((name) => !skipped.has(name));
    for (const name of others) skipped.set(name, `it is of one chain with ${missing}, which is not replayed`);
  }
  return skipped;
}

/** The parts of a policy that a candidate has changed, although recorded lines hold only their results. */
function changedParts(before: Policy, after: Policy): string[] {
  const present = new Map(Object.entries(askedOf(before)));
  const changed = Object.entries(askedOf(after)).filter(
    ([part, value]) => !isDeepStrictEqual(value, present.get(part)),
  );
  return changed.map(([part]) => part);
}

/** What the gateway has asked before it wrote a line. */
function askedOf({ match, except, exempt, key, fold, cost, meter, plan, plans = {}, chain = [] }: Policy) {
  const [names, overflow] = [Object.keys(plans).sort(), chain.map(({ name }) => name)];
  return { match, except, exempt, key, fold, cost, meter, plan, plans: names, overflow };
}

function readNeeds(policy: Policy, settings: Settings): Need[] {
  const { match, except = [], exempt, cost, key, plan, once, meter, statedCost, limits } = policy;
  const needs = [
    ...matchNeeds(match, "its match"),
    ...except.flatMap((one, i) => matchNeeds(one, `its except[${i}]`)),
    ...cost.flatMap((rule, i) => matchNeeds(rule, `its cost[${i}]`)),
    ...readParts(key).flatMap((part) => partNeeds(part, `its key ${part}`, settings)),
  ];
  if (meter) needs.push(["tokens", "its meter"]);
  if (statedCost) needs.push(["stated costs", "its cost.answer"]);
  if (exempt) needs.push(...partNeeds("ip", "its exempt", settings));
  if (plan !== undefined) needs.push(...partNeeds(plan, `its plan ${plan}`, settings));
  if (once) needs.push(...partNeeds(once.source, `its once ${once.source}`, settings));
  if (limits.some(({ scope }) => scope === "region")) needs.push(...regionNeeds(settings, "its scope region"));
  return needs;
}

function answerNeeds({ limits, count }: Policy): Need[] {
  const needs: Need[] = limits.some(isConcurrency) ? [["duration", "its algorithm concurrency"]] : [];
  return count ? [...needs, ["status", "its count"]] : needs;
}

/** The parts of the kinds that may be read: up to the first one that every request presents. The address comes last. */
function readParts(kinds: readonly string[]): readonly string[] {
  const all = [...kinds, "ip"].map((kind) => kind.split("+"));
  const first = all.findIndex((parts) => parts.every((part) => KEY_DESCRIPTIONS[sourceOf(part)].isAlwaysPresent));
  return all.slice(0, first < 0 ? undefined : first + 1).flat();
}

function partNeeds(part: string, of: string, settings: Settings): Need[] {
  if (part === "region") return regionNeeds(settings, of);
  // Logs have the address of the connection, or none.
  if (formOf(part).isAddress) return [[settings.clientIp ? "CLIENT_IP" : "ip", of]];
  return part === "global" ? [] : [[part, of]];
}

/** A region is known by the tables of `REGIONS`, and by the continent for what they do not name. */
function regionNeeds({ region, regions }: Settings, part: string): Need[] {
  if (region !== undefined) return [];
  const tables = (["colo", "country"] as const).filter((table) => Object.keys(regions[table]).length > 0);
  return tables.length > 0 ? tables.map((table) => [table, part]) : [["continent", part]];
}

function matchNeeds(match: Match, part: string): Need[] {
  const needs = { method: "method", path: "path", host: "host", rpc: "calls", tool: "calls", body: "calls" } as const;
  const fields = Object.keys(needs) as (keyof Match)[];
  return fields.filter((field) => match[field]).map((field) => [needs[field], `${part}.${field}`]);
}
