/** The policies of a configuration: those that are replayed, and those that are skipped, and why. */

import type { Settings } from "../../../config/settings.ts";
import type { Policy } from "../../../core/policy.ts";
import type { LiveView } from "../../../limiter/live/view.ts";
import { type NeedOptions, whySkipped } from "./needs.ts";
import { PolicyRun } from "./policy-run.ts";
import type { SkippedPolicy } from "./summary.ts";
import type { TimeAxis } from "./timeline.ts";

export class ReplayedPolicies {
  /** In the order of the configuration, without those that are skipped. */
  readonly runs: readonly PolicyRun[];
  readonly byName: ReadonlyMap<string, PolicyRun>;
  /** Policies that could not be replayed, and why. */
  readonly skipped: ReadonlyMap<string, string>;
  /** The names of those that are enforced. */
  readonly skippedEnforced: ReadonlySet<string>;

  readonly #all: readonly Policy[];
  readonly #view: LiveView | undefined;
  readonly #isRecorded: boolean;
  readonly #configured: ReadonlyMap<PolicyRun, Policy>;

  constructor(settings: Settings, view: LiveView | undefined, options: NeedOptions, axis: TimeAxis) {
    this.#all = settings.policies;
    this.#view = view;
    this.#isRecorded = options.isRecorded;
    const skipped = new Map<string, string>();
    const skippedEnforced = new Set<string>();
    const configured = new Map<PolicyRun, Policy>();
    for (const policy of settings.policies) {
      const inForce = this.inForce(policy);
      const reason = whySkipped(policy, settings, options);
      if (reason === undefined) configured.set(new PolicyRun(inForce, axis), policy);
      else {
        skipped.set(policy.name, reason);
        if (inForce.mode === "enforce") skippedEnforced.add(policy.name);
      }
    }
    this.runs = [...configured.keys()];
    this.byName = new Map(this.runs.map((run) => [run.policy.name, run]));
    this.skipped = skipped;
    this.skippedEnforced = skippedEnforced;
    this.#configured = configured;
  }

  /** The policy as it is in force for all clients. */
  inForce(policy: Policy): Policy {
    return this.#view?.policy(policy) ?? policy;
  }

  /** The policy as it is configured, without what the live document changes. */
  configured(run: PolicyRun): Policy {
    return this.#configured.get(run)!;
  }

  /** Of recorded lines: the policies that some line names. */
  get replayed(): readonly PolicyRun[] {
    return this.runs.filter(({ requests }) => requests > 0 || !this.#isRecorded);
  }

  skippedPolicies(): SkippedPolicy[] {
    return [
      ...this.#all.flatMap((policy) => {
        const reason = this.skipped.get(policy.name);
        return reason === undefined ? [] : [{ policy: policy.name, reason, mode: this.inForce(policy).mode }];
      }),
      ...this.runs
        .filter(({ requests }) => this.#isRecorded && requests === 0)
        .map(({ policy: { name, mode } }) => ({ policy: name, reason: "no recorded line names it", mode })),
    ];
  }

  notes(): string[] {
    return this.runs.flatMap(({ policy: { name, meter }, clients }) => {
      const settled = `${name} is replayed with the units that were reserved: what was settled later is not recorded`;
      const more = `${name} has more clients than are counted; its decisions are exact, its numbers of clients are not`;
      return [...(meter && this.#isRecorded ? [settled] : []), ...(clients.overflowed ? [more] : [])];
    });
  }
}
