/** The policies of a request with its client's numbers: those of its plan, and what the live document changes. */

import type { Policy } from "../../../core/policy.ts";
import { applyLive } from "../../../limiter/live/apply.ts";
import type { LiveView } from "../../../limiter/live/view.ts";
import { numbersOf } from "../../../limiter/numbers.ts";
import type { Client } from "./clients.ts";
import type { PolicyRun, Take } from "./policy-run.ts";
import type { ReplayedPolicies } from "./replayed-policies.ts";
import type { Named } from "./summary.ts";

/** A policy as it is applied to a client. */
export interface Applied {
  readonly run: PolicyRun;
  /** With the client's numbers. */
  readonly policy: Policy;
  readonly cost: number;
}

/** A client under a policy without overrides. */
const NOBODY: Named = { client: "", kind: "" };

export class AppliedPolicies {
  readonly #policies: ReplayedPolicies;
  readonly #view: LiveView | undefined;
  /** The names of policies with overrides: their clients must be hashed. */
  readonly #overridden: ReadonlySet<unknown>;
  readonly #nameOf: (client: Client) => Named;
  readonly #numbers: ReturnType<typeof numbersOf>;

  constructor(policies: ReplayedPolicies, view: LiveView | undefined, nameOf: (client: Client) => Named) {
    this.#policies = policies;
    this.#view = view;
    this.#overridden = new Set(view?.document.overrides.map((one: { policy?: unknown } | null) => one?.policy));
    this.#nameOf = nameOf;
    this.#numbers = numbersOf(policies.runs.map((run) => policies.configured(run)));
  }

  /** `blockedBy` has the names of the policies under which the client is blocked. Absent: it is not blocked. */
  of(
    takes: readonly Take[],
    nowMs: number,
  ): { readonly applied: readonly Applied[]; readonly blockedBy?: readonly string[] | undefined } {
    if (!this.#view) return { applied: takes.map(this.#planned) };
    const named = takes.map(({ run, cost, plan }) => {
      const { kind, client } = this.#overridden.has(run.policy.name) ? this.#nameOf(run.last) : NOBODY;
      return { policy: this.#policies.configured(run), kind, partition: client, cost, own: { plan } };
    });
    const { applied, blockedBy } = applyLive(this.#view, named, nowMs, this.#numbers);
    const runOf = ({ name }: Policy) => this.#policies.byName.get(name)!;
    return { applied: applied.map(({ policy, cost }) => ({ run: runOf(policy), policy, cost })), blockedBy };
  }

  readonly #planned = ({ run, cost, plan }: Take): Applied => {
    return { run, cost, policy: plan === undefined ? run.policy : this.#numbers(run.policy, { plan }) };
  };
}
