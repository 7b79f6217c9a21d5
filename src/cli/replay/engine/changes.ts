/** What becomes different when a candidate replaces the present configuration. */

import type { LogEntry } from "../log/entry.ts";
import { type Client, clientText, ownText } from "./clients.ts";
import type { ConfigurationRun } from "./configuration-run.ts";
import type { PolicyRun } from "./policy-run.ts";
import type { ChangedCount, Comparison } from "./summary.ts";

const MAX_EXAMPLES = 5;
/** Clients whose requests changed are counted up to this number. */
const MAX_CLIENTS = 1_000_000;
/** How many of these clients may become examples: about 300 bytes each. */
const MAX_CANDIDATES = 50_000;

interface Candidate {
  readonly client: Client;
  readonly atMs: number;
  readonly policy: string;
  readonly request: string;
}

/** Requests that changed in one way. */
class Changes {
  #requests = 0;
  readonly #requestsOf = new Map<string, number>();
  readonly #candidates = new Map<string, Candidate>();
  readonly #run: ConfigurationRun;

  /** @param run the configuration that refuses: it names the clients. */
  constructor(run: ConfigurationRun) {
    this.#run = run;
  }

  get overflowed(): boolean {
    return this.#requestsOf.size >= MAX_CLIENTS;
  }

  count({ policy, last: { kind, text: value } }: PolicyRun, entry: LogEntry, nowMs: number): void {
    this.#requests++;
    const text = clientText({ kind, text: value });
    const known = this.#requestsOf.get(text);
    if (known !== undefined) this.#requestsOf.set(text, known + 1);
    else if (this.#requestsOf.size < MAX_CLIENTS) {
      const own = ownText(text);
      this.#requestsOf.set(own, 1);
      if (this.#candidates.size >= MAX_CANDIDATES) return;
      const client = { kind, text: ownText(value) };
      this.#candidates.set(own, { client, atMs: nowMs, policy: policy.name, request: requestOf(entry) });
    }
  }

  summary(): ChangedCount {
    const top: string[] = [];
    const timesOf = (text: string) => this.#requestsOf.get(text)!;
    for (const text of this.#candidates.keys()) {
      const at = top.findIndex((other) => timesOf(other) < timesOf(text));
      if (at < 0 && top.length === MAX_EXAMPLES) continue;
      top.splice(at < 0 ? top.length : at, 0, text);
      top.length = Math.min(top.length, MAX_EXAMPLES);
    }
    return {
      requests: this.#requests,
      clients: this.#requestsOf.size,
      examples: top.map((text) => {
        const { client, ...example } = this.#candidates.get(text)!;
        return { ...example, ...this.#run.nameOf(client), requests: timesOf(text) };
      }),
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
  readonly #policies: readonly (BothWays & { readonly before: PolicyRun; readonly after: PolicyRun })[];

  constructor(present: ConfigurationRun, candidate: ConfigurationRun) {
    this.#present = present;
    this.#candidate = candidate;
    this.#all = this.#bothWays();
    this.#policies = present.policies.flatMap((before) => {
      const after = candidate.policies.find(({ policy }) => policy.name === before.policy.name);
      return after ? [{ before, after, ...this.#bothWays() }] : [];
    });
  }

  #bothWays(): BothWays {
    return { newlyRefused: new Changes(this.#candidate), newlyAdmitted: new Changes(this.#present) };
  }

  /** Counts what both configurations have decided about a request. */
  count(entry: LogEntry, request: number, nowMs: number): void {
    const { allowed: wasAllowed, takes: before } = this.#present;
    const { allowed: isAllowed, takes: after } = this.#candidate;
    if (wasAllowed && !isAllowed) {
      const refusing = after.find(({ run }) => refuses(run, request, true));
      if (refusing) this.#all.newlyRefused.count(refusing.run, entry, nowMs);
    } else if (!wasAllowed && isAllowed) {
      const refusing = before.find(({ run }) => refuses(run, request, true));
      if (refusing) this.#all.newlyAdmitted.count(refusing.run, entry, nowMs);
    }
    for (const { before, after, newlyRefused, newlyAdmitted } of this.#policies) {
      // If both are in shadow, what they would refuse is compared. If one is, it admits everything.
      const isReal = before.policy.mode !== after.policy.mode;
      const [was, is] = [refuses(before, request, isReal), refuses(after, request, isReal)];
      if (is && !was) newlyRefused.count(after, entry, nowMs);
      if (was && !is) newlyAdmitted.count(before, entry, nowMs);
    }
  }

  summary(): Omit<Comparison, "unknown"> {
    const [before, after] = [this.#present, this.#candidate].map(namesOf) as [string[], string[]];
    return {
      requests: summaryOf(this.#all),
      policies: this.#policies.map((one) => ({ policy: one.before.policy.name, ...summaryOf(one) })),
      added: after.filter((name) => !before.includes(name)),
      removed: before.filter((name) => !after.includes(name)),
    };
  }

  notes(): string[] {
    const all = [this.#all, ...this.#policies].flatMap(({ newlyRefused, newlyAdmitted }) => [
      newlyRefused,
      newlyAdmitted,
    ]);
    if (!all.some(({ overflowed }) => overflowed)) return [];
    return [`Of the clients with changed requests, the first ${MAX_CLIENTS} are counted`];
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
function refuses({ policy, last }: PolicyRun, request: number, isReal: boolean): boolean {
  return last.request === request && last.refused && (!isReal || policy.mode === "enforce" || last.isBlocked);
}
