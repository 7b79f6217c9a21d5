/** Lines that a gateway has recorded: what they take, their order, and how far they agree with the replay. */

import type { LogEntry, Recorded } from "../log/format.ts";
import type { Clients } from "./clients.ts";
import type { PolicyRun, PolicyTake } from "./policy-run.ts";
import type { SkippedPolicy } from "./summary.ts";

interface RecordedOptions {
  readonly runs: readonly PolicyRun[];
  /** The names of policies that are not replayed; and of those among them that are enforced. */
  readonly skipped: { has(name: string): boolean };
  readonly skippedEnforced: ReadonlySet<string>;
  readonly clients: Clients;
  /** Whether the lines are decisions of this configuration. */
  readonly isPresent: boolean;
}

/** The policies that a recorded line takes from, and what it says about policies that are not replayed. */
export class RecordedTakes {
  readonly #options: RecordedOptions;
  readonly #byName: ReadonlyMap<string, PolicyRun>;
  /** By the name of a policy that the configuration does not have: the lines that name it. */
  readonly #unknownPolicies = new Map<string, number>();
  /** By the name of a policy that is not replayed: the recorded requests that it refused. */
  readonly #refusedElsewhere = new Map<string, number>();

  constructor(options: RecordedOptions) {
    this.#options = options;
    this.#byName = new Map(options.runs.map((run) => [run.policy.name, run]));
  }

  takes(recorded: Recorded): PolicyTake[] {
    const { clients, skipped } = this.#options;
    const takes: PolicyTake[] = [];
    for (const { policy, kind, partition, cost, plan, once } of recorded.takes) {
      const run = this.#byName.get(policy);
      if (run) {
        const client = { kind, text: partition, number: clients.numberOf(kind, partition) };
        takes.push({ run, cost, plan, client, once, refused: false, isBlocked: false, isRepeat: false });
      } else if (!skipped.has(policy)) {
        this.#unknownPolicies.set(policy, (this.#unknownPolicies.get(policy) ?? 0) + 1);
      }
    }
    return takes;
  }

  /** What a policy that is not replayed has refused stays refused: it charged nothing. */
  isRefusedBySkipped({ takes, allowed }: Recorded): boolean {
    const { skippedEnforced, isPresent } = this.#options;
    // What the present configuration has admitted, the policy refused in shadow, whatever its mode is now.
    if (isPresent && allowed) return false;
    const refusing = takes.find(({ policy, refused }) => refused && skippedEnforced.has(policy));
    if (!refusing) return false;
    this.#refusedElsewhere.set(refusing.policy, (this.#refusedElsewhere.get(refusing.policy) ?? 0) + 1);
    return true;
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

/**
 * The entries of one millisecond with the admitted before the refused. Their true order is not known. A refused request
 * stays refused after others that were admitted in that instant; admitted ones fit in any order.
 */
export class InstantOrder {
  #admitted: LogEntry[] = [];
  #refused: LogEntry[] = [];
  #atMs = Number.NaN;

  /** Takes the next entry. @returns those that are complete now. */
  add(entry: LogEntry): readonly LogEntry[] {
    const complete = entry.atMs === this.#atMs ? [] : this.end();
    this.#atMs = entry.atMs;
    (entry.recorded?.allowed === false ? this.#refused : this.#admitted).push(entry);
    return complete;
  }

  /** The entries that are left. */
  end(): readonly LogEntry[] {
    const complete = [...this.#admitted, ...this.#refused];
    [this.#admitted, this.#refused] = [[], []];
    return complete;
  }
}

interface Agreed {
  lines: number;
  newlyRefused: number;
  newlyAdmitted: number;
}

/**
 * What the present configuration decides otherwise than the gateway did, by who answered there: several isolates,
 * leases and outages decide by other counts.
 */
export class Agreement {
  readonly #bySource = new Map<string, Agreed>();

  count(recorded: { readonly source: string; readonly allowed: boolean }, allowed: boolean): void {
    let agreed = this.#bySource.get(recorded.source);
    if (!agreed) {
      agreed = { lines: 0, newlyRefused: 0, newlyAdmitted: 0 };
      this.#bySource.set(recorded.source, agreed);
    }
    agreed.lines++;
    if (recorded.allowed && !allowed) agreed.newlyRefused++;
    if (!recorded.allowed && allowed) agreed.newlyAdmitted++;
  }

  notes(configuration: string): string[] {
    return [...this.#bySource].map(([source, { lines, newlyRefused, newlyAdmitted }]) => {
      const of = `of ${lines} decisions that were recorded with the source ${source}`;
      if (newlyRefused + newlyAdmitted === 0) return `${configuration}: all ${of} are the same in the replay`;
      const what = `${newlyRefused} admitted ones are refused, ${newlyAdmitted} refused ones are admitted`;
      return `${configuration}: ${newlyRefused + newlyAdmitted} ${of} differ in the replay: ${what}`;
    });
  }
}
