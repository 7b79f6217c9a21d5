/** Policies that are not replayed in one of two configurations: what the comparison leaves out, and what is unknown. */

import { isDeepStrictEqual } from "node:util";
import type { ConfigurationRun } from "./run.ts";

/** Policies that only one configuration replays, and why. In the other one they would seem to admit everything. */
export function leftOut(runs: readonly ConfigurationRun[]): Map<string, string> {
  const skipped = runs.flatMap((run) => [...run.skipped]);
  return new Map(skipped.filter(([name]) => runs.some((run) => replays(run, name))));
}

export function replays({ policies }: ConfigurationRun, name: string): boolean {
  return policies.some(({ policy }) => policy.name === name);
}

/** Enforced policies that are not replayed, except those that are the same in both configurations. */
export function unknown(present: ConfigurationRun, candidate: ConfigurationRun): string[] {
  const [before, after] = [present, candidate].map(enforcedSkipped) as [Skipped, Skipped];
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => !isDeepStrictEqual(before.get(name), after.get(name)),
  );
}

type Skipped = ReadonlyMap<string, unknown>;

function enforcedSkipped(run: ConfigurationRun): Skipped {
  const enforced = run.skippedPolicies().filter(({ mode }) => mode === "enforce");
  return new Map(
    enforced.map(({ policy, reason }) => {
      const configured = run.settings.policies.find(({ name }) => name === policy)!;
      return [policy, { reason, policy: run.inForce(configured) }];
    }),
  );
}
