/** What becomes different when a candidate replaces the present configuration. */

import { isDeepStrictEqual } from "node:util";
import type { LogEntry } from "../log/format.ts";
import { ClientSet } from "./clients.ts";
import type { ConfigurationRun, Outcome } from "./run.ts";

const MAX_EXAMPLES = 5;

/** Requests that changed in one way. */
class Changes {
  readonly #clients = new ClientSet();
  readonly #first = new Map<number, { readonly atMs: number; readonly policy: string; readonly request: string }>();
  #requests = 0;

  count({ policy, client }: Outcome, { atMs, head: { method, url } }: LogEntry): void {
    this.#requests++;
    this.#clients.add(client);
    if (client === undefined || this.#first.size >= MAX_EXAMPLES || this.#first.has(client)) return;
    // Without the query.
    const request = url === "" ? "" : `${method} ${new URL(url).pathname}`;
    this.#first.set(client, { atMs, policy, request });
  }

  summary({ namesOf }: ConfigurationRun) {
    const names = namesOf([...this.#first.keys()]);
    const examples = [...this.#first.values()].map((one, i) => ({ ...one, ...names[i]! }));
    /** The first requests, of different clients, at most 5. */
    return { requests: this.#requests, clients: this.#clients.size, examples };
  }
}

class BothWays {
  readonly newlyRefused = new Changes();
  readonly newlyAdmitted = new Changes();

  /** @param present and candidate what refused; undefined: nothing did. */
  count(present: Outcome | undefined, candidate: Outcome | undefined, entry: LogEntry): void {
    if (candidate && !present) this.newlyRefused.count(candidate, entry);
    if (present && !candidate) this.newlyAdmitted.count(present, entry);
  }

  summary(run: ConfigurationRun) {
    return { newlyRefused: this.newlyRefused.summary(run), newlyAdmitted: this.newlyAdmitted.summary(run) };
  }
}

export class Comparison {
  readonly #present: ConfigurationRun;
  readonly #candidate: ConfigurationRun;
  readonly #all = new BothWays();
  /** By the name of a policy that both have. `isReal`: one of them is in shadow, which admits everything. */
  readonly #policies: ReadonlyMap<string, { readonly isReal: boolean; readonly changes: BothWays }>;

  constructor(present: ConfigurationRun, candidate: ConfigurationRun) {
    this.#present = present;
    this.#candidate = candidate;
    const both = [...present.policies.values()].flatMap((before) => {
      const after = candidate.policies.get(before.name);
      if (!after) return [];
      const isReal = present.inForce(before).mode !== candidate.inForce(after).mode;
      return [[before.name, { isReal, changes: new BothWays() }] as const];
    });
    this.#policies = new Map(both);
  }

  /** Counts what both configurations have decided about a request. */
  count(entry: LogEntry): void {
    const [before, after] = [this.#present.outcomes, this.#candidate.outcomes];
    const refusing = (run: ConfigurationRun) =>
      run.allowed ? undefined : run.outcomes.find(({ enforced }) => enforced);
    if (this.#present.allowed !== this.#candidate.allowed) {
      this.#all.count(refusing(this.#present), refusing(this.#candidate), entry);
    }
    for (const [name, { isReal, changes }] of this.#policies) {
      const refused = ({ policy, refused, enforced }: Outcome) => policy === name && (isReal ? enforced : refused);
      changes.count(before.find(refused), after.find(refused), entry);
    }
  }

  summary() {
    const [present, candidate] = [this.#present, this.#candidate];
    const [before, after] = [present, candidate].map(({ settings }) => settings.policies.map(({ name }) => name));
    return {
      name: candidate.name,
      /** Over all policies: what happened to the request. */
      requests: this.#all.summary(candidate),
      /** Policies of the same name in both. */
      policies: [...this.#policies].map(([policy, { changes }]) => ({ policy, ...changes.summary(candidate) })),
      added: after!.filter((name) => !before!.includes(name)),
      removed: before!.filter((name) => !after!.includes(name)),
      unknown: this.#unknown(),
    };
  }

  /** Enforced policies of which it is not known what changes: they were not replayed, and differ. */
  #unknown(): string[] {
    const [before, after] = [this.#present, this.#candidate].map((run) => {
      const skipped = new Set(run.skipped().map(({ policy }) => policy));
      const inForce = run.settings.policies.filter(({ name }) => skipped.has(name)).map((one) => run.inForce(one));
      return new Map(inForce.filter(({ mode }) => mode === "enforce").map((one) => [one.name, one]));
    });
    const names = [...new Set([...before!.keys(), ...after!.keys()])];
    return names.filter((name) => !isDeepStrictEqual(before!.get(name), after!.get(name)));
  }
}
