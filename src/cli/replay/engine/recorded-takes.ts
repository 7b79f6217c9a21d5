/** The policies that a recorded line takes from, and what it says about policies that are not replayed. */

import type { Recorded } from "../log/entry.ts";
import type { Take } from "./policy-run.ts";
import type { ReplayedPolicies } from "./replayed-policies.ts";
import type { SkippedPolicy } from "./summary.ts";

export class RecordedTakes {
  readonly #policies: ReplayedPolicies;
  readonly #isPresent: boolean;
  /** By the name of a policy that the configuration does not have: the lines that name it. */
  readonly #unknownPolicies = new Map<string, number>();
  /** By the name of a policy that is not replayed: the recorded requests that it refused. */
  readonly #refusedElsewhere = new Map<string, number>();

  /** @param isPresent whether recorded lines are decisions of this configuration. */
  constructor(policies: ReplayedPolicies, isPresent: boolean) {
    this.#policies = policies;
    this.#isPresent = isPresent;
  }

  takes({ takes: recorded }: Recorded, request: number): Take[] {
    const takes: Take[] = [];
    for (const { policy, kind, partition, cost, plan } of recorded) {
      const run = this.#policies.byName.get(policy);
      if (run) {
        run.begin(request, kind, partition);
        takes.push({ run, cost, plan });
      } else if (!this.#policies.skipped.has(policy)) {
        this.#unknownPolicies.set(policy, (this.#unknownPolicies.get(policy) ?? 0) + 1);
      }
    }
    return takes;
  }

  /** What a policy that is not replayed has refused stays refused: it charged nothing. */
  isRefusedBySkipped({ takes, allowed }: Recorded): boolean {
    const { skippedEnforced } = this.#policies;
    // What the present configuration has admitted, the policy refused in shadow, whatever its mode is now.
    if (skippedEnforced.size === 0 || (this.#isPresent && allowed)) return false;
    return takes.some(({ policy, refused }) => {
      if (!refused || !skippedEnforced.has(policy)) return false;
      this.#refusedElsewhere.set(policy, (this.#refusedElsewhere.get(policy) ?? 0) + 1);
      return true;
    });
  }

  unknownPolicies(): SkippedPolicy[] {
    return [...this.#unknownPolicies].map(([policy, lines]) => ({
      policy,
      reason: `${lines} recorded lines name it, and the configuration does not have it`,
    }));
  }

  notes(): string[] {
    return [...this.#refusedElsewhere].map(([policy, requests]) => {
      const stay = requests === 1 ? "1 request stays" : `${requests} requests stay`;
      return `${stay} refused as recorded: the policy ${policy}, which is not replayed, refused`;
    });
  }
}
