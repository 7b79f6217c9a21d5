/** What becomes different when a candidate replaces the present configuration. */

import { isDeepStrictEqual } from "node:util";
import type { ConfigurationRun, PolicyResult } from "./run.ts";

/** Requests that only one of the configurations refuses. */
class Changes {
  readonly newlyRefused = { requests: 0, clients: new Set<number>() };
  readonly newlyAdmitted = { requests: 0, clients: new Set<number>() };

  /** @param present and candidate what refused; undefined: nothing did. */
  count(present: PolicyResult | undefined, candidate: PolicyResult | undefined): void {
    const refusing = present ?? candidate;
    if (!refusing || (present && candidate)) return;
    const changed = present ? this.newlyAdmitted : this.newlyRefused;
    changed.requests++;
    if (refusing.client !== undefined) changed.clients.add(refusing.client);
  }

  summary() {
    const [refused, admitted] = [this.newlyRefused, this.newlyAdmitted];
    return {
      newlyRefused: { requests: refused.requests, clients: refused.clients.size },
      newlyAdmitted: { requests: admitted.requests, clients: admitted.clients.size },
    };
  }
}

export class Comparison {
  readonly #runs: readonly [present: ConfigurationRun, candidate: ConfigurationRun];
  readonly #all = new Changes();
  /** By the name of a policy that both have. */
  readonly #policies: ReadonlyMap<string, Changes>;

  constructor(present: ConfigurationRun, candidate: ConfigurationRun) {
    this.#runs = [present, candidate];
    const both = [...present.policies.keys()].filter((name) => candidate.policies.has(name));
    this.#policies = new Map(both.map((name) => [name, new Changes()]));
  }

  /** Counts what both configurations have decided about a request. */
  count(): void {
    const [present, candidate] = this.#runs;
    const refusing = ({ allowed, results }: ConfigurationRun) => (allowed ? undefined : results.find(isEnforced));
    if (present.allowed !== candidate.allowed) this.#all.count(refusing(present), refusing(candidate));
    for (const [name, changes] of this.#policies) {
      // If both are in shadow, what they would refuse is compared. If one is, it admits everything.
      const isReal = present.policies.get(name)!.mode !== candidate.policies.get(name)!.mode;
      const isRefused = (one: PolicyResult) => one.policy.name === name && (isReal ? isEnforced(one) : one.refused);
      changes.count(present.results.find(isRefused), candidate.results.find(isRefused));
    }
  }

  summary() {
    const [before, after] = this.#runs.map((run) => {
      const skipped = new Set(run.skipped().map(({ policy }) => policy));
      const unknown = run.settings.policies.filter(({ name, mode }) => skipped.has(name) && mode === "enforce");
      return new Map(unknown.map((one) => [one.name, one]));
    });
    const names = [...new Set([...before!.keys(), ...after!.keys()])];
    return {
      name: this.#runs[1].name,
      /** Over all policies: what happened to the request. */
      requests: this.#all.summary(),
      /** Policies of the same name in both. */
      policies: [...this.#policies].map(([policy, changes]) => ({ policy, ...changes.summary() })),
      /** Enforced policies of which it is not known what changes: they were not replayed, and differ. */
      unknown: names.filter((name) => !isDeepStrictEqual(before!.get(name), after!.get(name))),
    };
  }
}

function isEnforced({ refused, policy }: PolicyResult): boolean {
  return refused && policy.mode === "enforce";
}
