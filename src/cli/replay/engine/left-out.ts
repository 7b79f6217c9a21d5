/** Policies that are not replayed in one of two configurations: what the comparison leaves out, and what is unknown. */

import { isDeepStrictEqual } from "node:util";
import type { ConfigurationRun } from "./configuration-run.ts";

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
 */
export function unknown(present: ConfigurationRun, candidate: ConfigurationRun): string[] {
  const left = leftOut([present, candidate]);
  const [before, after] = [present, candidate].map((run) => enforcedUnknown(run, left)) as [Unknown, Unknown];
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => !isDeepStrictEqual(before.get(name), after.get(name)),
  );
}

type Unknown = ReadonlyMap<string, unknown>;

/** The reason is undefined for a policy that is replayed here and not in the other configuration. */
function enforcedUnknown(run: ConfigurationRun, left: ReadonlyMap<string, string>): Unknown {
  const reasons = new Map(run.skippedPolicies().map(({ policy, reason }) => [policy, reason]));
  return new Map(
    run.settings.policies.flatMap((configured) => {
      const policy = run.inForce(configured);
      const { name, mode } = policy;
      const isUnknown = reasons.has(name) || left.has(name);
      return isUnknown && mode === "enforce" ? [[name, { reason: reasons.get(name), policy }] as const] : [];
    }),
  );
}
