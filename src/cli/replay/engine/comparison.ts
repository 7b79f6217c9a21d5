/** What becomes different when a candidate replaces the present configuration. */

import type { LogEntry } from "../log/format.ts";
import { PayerChanges } from "./chain-run.ts";
import { ClientCounts, type Clients } from "./clients.ts";
import type { ConfigurationRun } from "./configuration-run.ts";
import type { PolicyRun, PolicyTake } from "./policy-run.ts";
import type { ChangedCount, ChangedExample, Comparison, Named } from "./summary.ts";

const MAX_EXAMPLES = 5;
/** How many of the clients whose requests changed may become examples: about 300 bytes each. */
const MAX_FIRSTS = 50_000;

/** Requests that changed in one way. */
class Changes {
  #requests = 0;
  readonly #requestsOf = new ClientCounts();
  readonly #firstOf = new Map<number, Omit<ChangedExample, "requests" | keyof Named>>();
  readonly #run: ConfigurationRun;
  readonly #clients: Clients;
  /** Some clients are not counted. */
  hasMoreClients = false;

  /** @param run the configuration that refuses: it names the clients. */
  constructor(run: ConfigurationRun, clients: Clients) {
    this.#run = run;
    this.#clients = clients;
  }

  count({ run: { policy }, client: { number } }: PolicyTake, entry: LogEntry, nowMs: number): void {
    this.#requests++;
    if (!this.#clients.isCounted(number)) {
      this.hasMoreClients = true;
      return;
    }
    this.#requestsOf.increment(number);
    if (this.#firstOf.size >= MAX_FIRSTS || this.#firstOf.has(number)) return;
    this.#firstOf.set(number, { atMs: nowMs, policy: policy.name, request: requestOf(entry) });
  }

  summary(): ChangedCount {
    const requestsOf = (client: number) => this.#requestsOf.get(client);
    const firsts = [...this.#firstOf].sort(([one], [other]) => requestsOf(other) - requestsOf(one));
    const examples = firsts.slice(0, MAX_EXAMPLES);
    const clients = this.#clients.withNumbers(new Set(examples.map(([client]) => client)));
    return {
      requests: this.#requests,
      clients: this.#requestsOf.counts.reduce((sum, requests) => sum + Math.min(requests, 1), 0),
      examples: examples.map(([client, first]) => ({
        ...first,
        ...this.#run.nameOf(clients.get(client)!),
        requests: requestsOf(client),
      })),
    };
  }
}

/** Method and path without the query, as a text of its own: a part of a text keeps the whole text in memory. */
function requestOf({ head: { method, url }, recorded }: LogEntry): string {
  if (recorded || url === "") return "";
  const [start] = /^[^:/?#]+:\/\/[^/?#]*/.exec(url) ?? [""];
  const [path = ""] = url.slice(start.length).split(/[?#]/, 1);
  return Buffer.from(`${method} ${path}`).toString();
}

/** Both ways of changing. */
interface BothWays {
  readonly newlyRefused: Changes;
  readonly newlyAdmitted: Changes;
}

export class ComparisonRun {
  readonly #present: ConfigurationRun;
  readonly #candidate: ConfigurationRun;
  readonly #all: BothWays;
  readonly #payers: PayerChanges;
  readonly #policies: readonly (BothWays & { readonly before: PolicyRun; readonly after: PolicyRun })[];

  constructor(present: ConfigurationRun, candidate: ConfigurationRun, clients: Clients) {
    this.#present = present;
    this.#candidate = candidate;
    const bothWays = (): BothWays => ({
      newlyRefused: new Changes(candidate, clients),
      newlyAdmitted: new Changes(present, clients),
    });
    this.#all = bothWays();
    this.#policies = present.policies.flatMap((before) => {
      const after = candidate.policies.find(({ policy }) => policy.name === before.policy.name);
      return after ? [{ before, after, ...bothWays() }] : [];
    });
    this.#payers = new PayerChanges(this.#policies);
  }

  /** Counts what both configurations have decided about a request. */
  count(entry: LogEntry, nowMs: number): void {
    this.#payers.count(this.#present, this.#candidate);
    const { allowed: wasAllowed, takes: before } = this.#present;
    const { allowed: isAllowed, takes: after } = this.#candidate;
    if (wasAllowed !== isAllowed) {
      const refusing = (wasAllowed ? after : before).find((take) => refuses(take, true));
      if (refusing) this.#all[wasAllowed ? "newlyRefused" : "newlyAdmitted"].count(refusing, entry, nowMs);
    }
    for (const policy of this.#policies) {
      // If both are in shadow, what they would refuse is compared. If one is, it admits everything.
      const isReal = policy.before.policy.mode !== policy.after.policy.mode;
      const was = before.find(({ run }) => run === policy.before);
      const is = after.find(({ run }) => run === policy.after);
      const [wasRefused, isRefused] = [refuses(was, isReal), refuses(is, isReal)];
      if (isRefused && !wasRefused) policy.newlyRefused.count(is!, entry, nowMs);
      if (wasRefused && !isRefused) policy.newlyAdmitted.count(was!, entry, nowMs);
    }
  }

  summary(): Omit<Comparison, "unknown"> {
    const payers = this.#payers.summary();
    const [before, after] = [this.#present, this.#candidate].map(namesOf) as [string[], string[]];
    return {
      requests: summaryOf(this.#all),
      policies: this.#policies.map((one) => ({ policy: one.before.policy.name, ...summaryOf(one) })),
      ...(payers.length > 0 && { payers }),
      added: after.filter((name) => !before.includes(name)),
      removed: before.filter((name) => !after.includes(name)),
    };
  }

  notes(): string[] {
    const all = [this.#all, ...this.#policies].flatMap((one) => [one.newlyRefused, one.newlyAdmitted]);
    if (!all.some(({ hasMoreClients }) => hasMoreClients)) return [];
    return ["Some clients with changed requests are not counted: the log has more clients than are counted"];
  }
}

function summaryOf({ newlyRefused, newlyAdmitted }: BothWays) {
  return { newlyRefused: newlyRefused.summary(), newlyAdmitted: newlyAdmitted.summary() };
}

/** All policies of the configuration, also those that could not be replayed. */
function namesOf({ settings }: ConfigurationRun): string[] {
  return settings.policies.map(({ name }) => name);
}

/** @param isReal whether a policy in shadow refuses nothing. An operator's block refuses also there. */
function refuses(take: PolicyTake | undefined, isReal: boolean): boolean {
  if (!take?.refused) return false;
  return !isReal || take.run.policy.mode === "enforce" || take.isBlocked;
}
