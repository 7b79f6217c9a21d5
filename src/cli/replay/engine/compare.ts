/** What becomes different when a candidate replaces the present configuration. */

import { type ConfigurationRun, Occurrences, type PolicyResult } from "./run.ts";

/** Requests that only one of the configurations refuses. */
class Changes {
  readonly newlyRefused = new Occurrences();
  readonly newlyAdmitted = new Occurrences();

  /** @param before and @param after what refuses the request. Undefined: nothing does. */
  count(before: PolicyResult | undefined, after: PolicyResult | undefined): void {
    if (before && !after) this.newlyAdmitted.add(before.client);
    if (after && !before) this.newlyRefused.add(after.client);
  }

  summary() {
    return { newlyRefused: this.newlyRefused.summary(), newlyAdmitted: this.newlyAdmitted.summary() };
  }
}

export class Comparison {
  readonly #present: ConfigurationRun;
  readonly #candidate: ConfigurationRun;
  readonly #requests = new Changes();
  /** By the name of a policy that both have. */
  readonly #policies: ReadonlyMap<string, Changes>;

  constructor(present: ConfigurationRun, candidate: ConfigurationRun) {
    this.#present = present;
    this.#candidate = candidate;
    const both = [...present.policies.keys()].filter((name) => candidate.policies.has(name));
    this.#policies = new Map(both.map((name) => [name, new Changes()]));
  }

  /** Counts what both configurations have decided about a request. */
  count(): void {
    const [before, after] = [this.#present, this.#candidate];
    if (before.allowed !== after.allowed) this.#requests.count(refusing(before), refusing(after));
    for (const [name, changes] of this.#policies) {
      // If both are in shadow, what they would refuse is compared. If one is, it admits everything.
      const isShadow = before.policies.get(name)!.mode === "shadow" && after.policies.get(name)!.mode === "shadow";
      const isRefusing = (one: PolicyResult) => one.policy.name === name && (isShadow ? one.refused : isEnforced(one));
      changes.count(before.results.find(isRefusing), after.results.find(isRefusing));
    }
  }

  summary() {
    return {
      name: this.#candidate.name,
      /** Over all policies: what happened to the request. */
      requests: this.#requests.summary(),
      /** Policies of the same name in both. */
      policies: [...this.#policies].map(([policy, changes]) => ({ policy, ...changes.summary() })),
    };
  }
}

function refusing({ allowed, results }: ConfigurationRun): PolicyResult | undefined {
  return allowed ? undefined : results.find(isEnforced);
}

function isEnforced({ refused, policy }: PolicyResult): boolean {
  return refused && policy.mode === "enforce";
}
