/** What a comparison of two configurations leaves out, and what it cannot know. */

import { isDeepStrictEqual } from "node:util";
import type { Policy } from "../../../core/policy.ts";
import type { ConfigurationRun } from "./configuration-run.ts";

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
  "plan names": ({ plans = {} }) => Object.keys(plans).sort(),
} satisfies Record<string, (policy: Policy) => unknown>;

/**
 * The candidate's policies that recorded lines cannot try, and why. A policy that only the candidate has is none of
 * them.
 */
export function untried(present: readonly Policy[], candidate: readonly Policy[]): Map<string, string> {
  const reasons = new Map<string, string>();
  for (const after of candidate) {
    const before = present.find(({ name }) => name === after.name);
    if (!before) continue;
    const changed = Object.entries(ASKED).filter(([, of]) => !isDeepStrictEqual(of(before), of(after)));
    const parts = changed.map(([part]) => part);
    // An overflow may go. Of a new one the lines hold no key.
    const isNew = ({ name }: Policy) => !before.chain?.some((one) => one.name === name);
    if (!after.isOverflow && after.chain?.some(isNew)) parts.push("overflow");
    if (parts.length === 0) continue;
    const [differ, one] = parts.length === 1 && parts[0] !== "plan names" ? ["differs", "one"] : ["differ", "ones"];
    reasons.set(after.name, `its ${parts.join(", ")} ${differ}, and recorded lines hold the old ${one}`);
  }
  return reasons;
}

/** Policies that only one configuration replays, and why. In the other one they would seem to admit everything. */
export function leftOut(runs: readonly ConfigurationRun[]): Map<string, string> {
  const skipped = runs.flatMap((run) => [...run.skipped]);
  return new Map(skipped.filter(([name]) => runs.some((run) => replays(run, name))));
}

export function replays({ policies }: ConfigurationRun, name: string): boolean {
  return policies.some(({ policy }) => policy.name === name);
}

/**
 * Enforced policies of which the comparison cannot know what changes: at least one configuration does not replay them.
 * Those that neither replays, and that are the same in both, change nothing.
 *
 * @param left the policies that the comparison leaves out.
 */
export function unknown(
  present: ConfigurationRun,
  candidate: ConfigurationRun,
  left: ReadonlyMap<string, string>,
): string[] {
  const [before, after] = [enforcedUnknown(present, left), enforcedUnknown(candidate, left)];
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => !isDeepStrictEqual(before.get(name), after.get(name)),
  );
}

/** The reason is undefined for a policy that is replayed here and not in the other configuration. */
function enforcedUnknown(run: ConfigurationRun, left: ReadonlyMap<string, string>): ReadonlyMap<string, unknown> {
  const reasons = new Map(run.skippedPolicies().map(({ policy, reason }) => [policy, reason]));
  const enforced = run.settings.policies.map((one) => run.inForce(one)).filter(({ mode }) => mode === "enforce");
  const unknown = enforced.filter(({ name }) => reasons.has(name) || left.has(name));
  return new Map(unknown.map((policy) => [policy.name, { reason: reasons.get(policy.name), policy }]));
}
