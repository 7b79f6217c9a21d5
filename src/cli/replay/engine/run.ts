/** One configuration over a log: the gateway's matcher, keys and limiter, request by request. */

import { foldedKey } from "../../../features/fold/fold.ts";
import { withLinks } from "../../../features/overflow/on-the-way.ts";
import { apart, isPreflight } from "../../../features/preflight/preflight.ts";
import type { Settings } from "../../../kernel/config/settings.ts";
import type { Decision } from "../../../kernel/core/decision.ts";
import type { Policy } from "../../../kernel/core/policy.ts";
import { clientKey, namedOnce, namedPlan } from "../../../kernel/http/key.ts";
import { compileMatcher, sameRequest } from "../../../kernel/http/match.ts";
import { regionOf, UNKNOWN } from "../../../kernel/http/region.ts";
import type { Take } from "../../../kernel/limiter/types.ts";
import type { RequestHead } from "../../../kernel/request/request-head.ts";
import type { LoggedRequest, Recorded } from "../log/format.ts";
import type { OpenLog } from "../log/open.ts";
import { type LogClock, LogLimiter, storedKey } from "./limiter.ts";

export interface Configuration {
  /** The file's name. */
  readonly name: string;
  readonly settings: Settings;
}

interface RunOptions {
  readonly log: OpenLog;
  readonly clock: LogClock;
  /** As for `memoryStore`. */
  readonly maxKeys: number;
  /** The policies that are not replayed, and why, by name. */
  readonly skipped: ReadonlyMap<string, string>;
  /** The present configuration, of a candidate. It has decided each request before. */
  readonly present?: ConfigurationRun | undefined;
}

interface Refusal {
  readonly policy: Policy;
  readonly client: string;
}

/** Clients that are counted of each policy, about 100 bytes each. Decisions are exact for any number of clients. */
const MAX_CLIENTS = 1_000_000;

/** Requests, and the clients that sent them. */
class Occurrences {
  requests = 0;
  readonly clients = new Set<string>();

  add(client: string): void {
    this.requests++;
    if (this.clients.size < MAX_CLIENTS) this.clients.add(client);
  }
}

class PolicyCounts {
  readonly asked = new Occurrences();
  readonly refused = new Occurrences();
  /** The sources that requests had a value of: kinds of the key, the plan, the id. */
  readonly sources = new Set<string>();
  readonly changes = new Changes();
}

/** Requests that only one of two configurations refuses. */
class Changes {
  readonly newlyRefused = new Occurrences();
  readonly newlyAdmitted = new Occurrences();

  /** @param before and @param after the client that is refused. Undefined: none is. */
  count(before: string | undefined, after: string | undefined): void {
    if (before !== undefined && after === undefined) this.newlyAdmitted.add(before);
    if (after !== undefined && before === undefined) this.newlyRefused.add(after);
  }

  summary() {
    const of = ({ requests, clients }: Occurrences) => ({ requests, clients: clients.size });
    return { newlyRefused: of(this.newlyRefused), newlyAdmitted: of(this.newlyAdmitted) };
  }
}

export class ConfigurationRun {
  readonly name: string;
  /** By name, without those that are skipped. */
  readonly policies: ReadonlyMap<string, Policy>;
  /** Of the last request: whether it would have been admitted, and what it took. */
  allowed = true;
  takes: readonly Take[] = [];
  region: () => string = () => "";

  readonly #settings: Settings;
  readonly #options: RunOptions;
  readonly #limiter: LogLimiter;
  readonly #match: ReturnType<typeof compileMatcher>;
  readonly #counts: ReadonlyMap<string, PolicyCounts>;
  /** Of all policies together. */
  readonly #changes = new Changes();
  /** Of the last request. */
  #refusals: readonly Refusal[] = [];
  /** By who paid for requests under policies with an overflow. */
  readonly #paidBy = new Map<string, number>();
  /** Policies that recorded lines name, and the configuration does not have. */
  readonly #unknown = new Set<string>();
  readonly #seen = { requests: 0, refused: 0, preflights: 0, options: 0 };
  #isRegionUnknown = false;

  constructor({ name, settings }: Configuration, options: RunOptions) {
    const policies = settings.policies.filter((policy) => !options.skipped.has(policy.name));
    this.name = name;
    this.#settings = settings;
    this.policies = new Map(policies.map((policy) => [policy.name, policy]));
    this.#options = options;
    this.#limiter = new LogLimiter(policies, options.clock, options.maxKeys);
    this.#match = compileMatcher(policies);
    this.#counts = new Map(policies.map((policy) => [policy.name, new PolicyCounts()]));
  }

  async decide(entry: LoggedRequest): Promise<void> {
    const { head, recorded } = entry;
    this.region = () => recorded?.region ?? this.#regionOf(head);
    this.takes = recorded ? this.#recorded(recorded) : this.#matched(head);
    const decision = await this.#limiter.take(this.takes, this.region, entry);
    this.allowed = decision.allowed;
    this.#seen.requests++;
    if (!this.allowed) this.#seen.refused++;
    this.#refusals = this.#count(decision);
    if (this.#options.present) this.#compare(this.#options.present);
  }

  #count({ policies, paidBy }: Decision): Refusal[] {
    if (paidBy !== undefined) this.#paidBy.set(paidBy, (this.#paidBy.get(paidBy) ?? 0) + 1);
    return policies.flatMap(({ policy, became }, t) => {
      if (became === "unneeded") return [];
      const { key, plan, once } = this.takes[t]!;
      const client = key.values[0]!;
      const counts = this.#counts.get(policy.name)!;
      counts.asked.add(client);
      counts.sources.add(key.kind);
      if (plan) counts.sources.add(policy.plan!);
      if (once) counts.sources.add(policy.once!.source);
      if (became !== "refused") return [];
      counts.refused.add(client);
      return [{ policy, client }];
    });
  }

  #compare(present: ConfigurationRun): void {
    if (this.allowed !== present.allowed) this.#changes.count(present.#refused(isEnforced), this.#refused(isEnforced));
    for (const [name, policy] of this.policies) {
      const before = present.policies.get(name);
      if (!before) continue;
      // If both are in shadow, what they would refuse is compared. If one is, it admits everything.
      const isCompared = isEnforced(policy) || isEnforced(before) ? isEnforced : () => true;
      const isIt = (one: Policy) => one.name === name && isCompared(one);
      this.#counts.get(name)!.changes.count(present.#refused(isIt), this.#refused(isIt));
    }
  }

  /** The client that one of these policies refused the last time. */
  #refused(isIt: (policy: Policy) => boolean): string | undefined {
    return this.#refusals.find(({ policy }) => isIt(policy))?.client;
  }

  #matched(head: RequestHead): Take[] {
    const { region } = this;
    const found = this.#match(head);
    const takes = withLinks(isPreflight(head) ? apart(found) : found).map(({ policy, cost, link, isPreflight }) => {
      const client = clientKey(policy.key, head, region, this.#settings.ipv6Prefix);
      const key = storedKey(policy.fold ? foldedKey(client) : client);
      const plan = policy.plan && namedPlan(policy.plan, head, region);
      const id = policy.once && namedOnce(policy.once.source, head, region);
      const take = { policy, key, cost, plan, isPreflight, once: id && [...id, ...sameRequest(head)] };
      return link === undefined ? take : { ...take, link };
    });
    if (isPreflight(head)) this.#seen.preflights++;
    else if (head.method === "OPTIONS" && takes.length > 0) this.#seen.options++;
    return takes;
  }

  #recorded({ takes }: Recorded): Take[] {
    let chain: readonly Policy[] = [];
    return takes.flatMap(({ policy: name, kind, partition, cost, plan, once }) => {
      const later = chain.findIndex((one) => one.name === name);
      const policy = chain[later] ?? this.policies.get(name);
      if (!policy) {
        if (!this.#options.skipped.has(name)) this.#unknown.add(name);
        return [];
      }
      if (later < 0) chain = policy.chain ?? [];
      const key = storedKey({ kind, values: [partition] });
      const take = { policy, key, cost, plan, once: once ? [once] : undefined };
      return chain.length > 0 ? { ...take, link: later + 1 } : take;
    });
  }

  /** Finds the region that answers a request. Called only if a policy needs it. */
  #regionOf(head: RequestHead): string {
    const { region, regions } = this.#settings;
    const name = regionOf(head, region, regions);
    if (name === UNKNOWN && region === undefined) this.#isRegionUnknown = true;
    return name;
  }

  summary() {
    const { requests, refused } = this.#seen;
    const { present } = this.#options;
    const replayed = [...this.policies.values()].filter((policy) => this.#whySkipped(policy) === undefined);
    const skipped = this.#settings.policies.flatMap((one) => {
      const reason = this.#whySkipped(one);
      return reason === undefined ? [] : [{ policy: one.name, reason, mode: one.mode }];
    });
    const reason = "recorded lines name it, and the configuration does not have it";
    const unknown = [...this.#unknown].map((policy) => ({ policy, reason, mode: undefined }));
    return {
      name: this.name,
      /** Over all policies. `changes`: of a candidate, the requests that it decides otherwise. */
      requests: { requests, refused, changes: present && this.#changes.summary() },
      policies: replayed.map(({ name, mode }) => {
        const { asked, refused, changes } = this.#counts.get(name)!;
        return {
          ...{ policy: name, mode, requests: asked.requests, refused: refused.requests },
          ...{ clients: asked.clients.size, refusedClients: refused.clients.size },
          /** Of policies that the present configuration has, too. */
          changes: present?.policies.has(name) ? changes.summary() : undefined,
        };
      }),
      /** Policies that could not be replayed, and why. */
      skipped: [...skipped, ...unknown],
      /** Who paid under policies with an overflow, and for how many requests. */
      paidBy: [...this.#paidBy].map(([policies, requests]) => ({ policies, requests })),
    };
  }

  #whySkipped({ name }: Policy): string | undefined {
    const isUnnamed = this.#options.log.isRecorded && this.#counts.get(name)?.asked.requests === 0;
    return isUnnamed ? "no recorded line names it" : this.#options.skipped.get(name);
  }

  notes(): string[] {
    const { preflights, options } = this.#seen;
    const { untimed } = this.#limiter;
    const notes: string[] = [];
    for (const { name, key, plan, meter, count, once } of this.policies.values()) {
      const { asked, sources } = this.#counts.get(name)!;
      // Without a kind of the key it is the address. What comes after the last kind that was there was not looked for.
      const kinds = [...new Set([...key, "ip"])];
      const wanted = [
        ...kinds.slice(
          0,
          kinds.findLastIndex((kind) => sources.has(kind)),
        ),
        plan,
        once?.source,
      ];
      const lacking = wanted.filter((source) => source !== undefined && !sources.has(source));
      if (asked.requests > 0 && lacking.length > 0)
        notes.push(`${name}: no request of the log has a value for ${lacking.join(", ")}`);
      if (asked.clients.size >= MAX_CLIENTS)
        notes.push(`${name} has more clients than are counted: numbers of clients are too small`);
      if (meter) notes.push(`${name} counts what was reserved: what was settled later is not recorded`);
      if (count) notes.push(`${name} counts ${count.join(", ")} by the statuses of the log, and no attempts in flight`);
    }
    if (this.#isRegionUnknown && this.#options.log.lacks("continent") !== undefined)
      notes.push(`requests for which REGIONS has no name count under ${UNKNOWN}`);
    if (options > 0 && preflights === 0)
      notes.push(`${options} OPTIONS requests were counted; the gateway counts preflights apart, which the log lacks`);
    if (untimed > 0)
      notes.push(`${untimed} requests do not say how long they took: each holds its slot until the timeout`);
    return notes.map((note) => `${this.name}: ${note}`);
  }
}

function isEnforced({ mode }: Policy): boolean {
  return mode === "enforce";
}
