/** Lines that a gateway has recorded: what they take, their order, and how far they agree with the replay. */

import type { Settings } from "../../../config/settings.ts";
import type { Policy } from "../../../core/policy.ts";
import type { LogEntry, Recorded } from "../log/format.ts";
import type { Asked } from "./chain-run.ts";
import type { Clients } from "./clients.ts";
import { type PolicyTake, undecided } from "./policy-run.ts";
import type { SkippedPolicy } from "./summary.ts";

interface RecordedOptions {
  readonly settings: Settings;
  /** By the policy as it is configured. */
  readonly asked: ReadonlyMap<Policy, Asked>;
  /** The names of policies that are not replayed; and of those among them that are enforced. */
  readonly skipped: { has(name: string): boolean };
  readonly skippedEnforced: ReadonlySet<string>;
  readonly clients: Clients;
  /** The policies of the configuration that decided the lines. */
  readonly recordedBy: readonly Policy[];
}

/** The policies that a recorded line takes from, and what it says about policies that are not replayed. */
export class RecordedTakes {
  readonly #options: RecordedOptions;
  readonly #byName: ReadonlyMap<string, Policy>;
  readonly #recordedBy: ReadonlyMap<string, Policy>;
  /** By the name of a policy that the configuration does not have: the lines that name it. */
  readonly #unknownPolicies = new Map<string, number>();
  /** By the name of a policy that is not replayed: the recorded requests that it refused. */
  readonly #refusedElsewhere = new Map<string, number>();
  /** By a policy and an overflow of it: the lines that name the first one alone. */
  readonly #unnamed = new Map<string, number>();

  constructor(options: RecordedOptions) {
    this.#options = options;
    const byName = (policies: readonly Policy[]) => new Map(policies.map((policy) => [policy.name, policy]));
    this.#byName = byName(options.settings.policies);
    this.#recordedBy = byName(options.recordedBy);
  }

  takes(recorded: Recorded): PolicyTake[] {
    const { asked, clients, skipped } = this.#options;
    const takes: PolicyTake[] = [];
    /** The policy whose overflows may follow. */
    let head: string | undefined;
    for (const { policy: name, kind, partition, cost, plan, once } of recorded.takes) {
      const isLink = head !== undefined && this.#recordedBy.get(head)?.chain?.some((one) => one.name === name);
      if (!isLink) head = name;
      const known = this.#byName.get(name);
      if (!known && !skipped.has(name)) this.#unknownPolicies.set(name, (this.#unknownPolicies.get(name) ?? 0) + 1);
      const chain = this.#byName.get(head!)?.chain ?? [];
      const policy = isLink ? chain.find((one) => one.name === name) : known;
      const found = policy && asked.get(policy);
      if (!found) continue;
      const client = { kind, text: partition, number: clients.numberOf(kind, partition) };
      const link = chain.length > 0 ? chain.indexOf(policy) + 1 : undefined;
      takes.push(undecided({ ...found, link, cost, plan, client, once }));
    }
    return takes.some(({ link }) => link === 0) ? this.#inOrder(takes) : takes;
  }

  /** Each policy with its overflows behind it, in the order of the configuration's chain. */
  #inOrder(takes: readonly PolicyTake[]): PolicyTake[] {
    return takes.flatMap((head, at) => {
      if (head.link === undefined) return [head];
      if (head.link > 0) return [];
      const { chain = [], name } = head.run.configured;
      const end = takes.findIndex(({ link }, i) => i > at && !link);
      const links = takes.slice(at + 1, end < 0 ? undefined : end);
      for (const one of chain.filter((policy) => links.every(({ policy: { name } }) => name !== policy.name))) {
        const pair = `${name} without its overflow ${one.name}`;
        this.#unnamed.set(pair, (this.#unnamed.get(pair) ?? 0) + 1);
      }
      return [head, ...links.sort((one, other) => one.link! - other.link!)];
    });
  }

  /** What a policy that is not replayed has refused stays refused: it charged nothing. */
  isRefusedBySkipped({ takes, allowed }: Recorded): boolean {
    const { skippedEnforced, settings, recordedBy } = this.#options;
    // The policy was in shadow when it refused what the present configuration has admitted. Its mode now does not
    // matter.
    if (recordedBy === settings.policies && allowed) return false;
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
    const refused = [...this.#refusedElsewhere].map(([policy, requests]) => {
      const stay = requests === 1 ? "1 request stays" : `${requests} requests stay`;
      return `${stay} refused as recorded: the policy ${policy}, which is not replayed, refused`;
    });
    const unnamed = [...this.#unnamed].map(([pair, lines]) => {
      const name = lines === 1 ? "1 recorded line names" : `${lines} recorded lines name`;
      return `${name} ${pair}: the replay does not ask it there`;
    });
    return [...refused, ...unnamed];
  }
}

/**
 * The entries of one millisecond with the admitted before the refused. Their true order is not known. A refused request
 * stays refused after others that were admitted in that instant; admitted ones fit in any order, except
 * where an overflow pays for some of them and costs differ.
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
