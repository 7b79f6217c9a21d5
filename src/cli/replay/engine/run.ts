/** One configuration over a log: the gateway's matcher, keys and limiter, request by request. */

import type { Settings } from "../../../config/settings.ts";
import { algorithmOf } from "../../../core/algorithms.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Policy } from "../../../core/policy.ts";
import { clientKey, namedOnce, namedPlan } from "../../../http/key.ts";
import { withLinks } from "../../../http/links.ts";
import { compileMatcher, isPreflight, sameRequest } from "../../../http/match.ts";
import { regionOf, UNKNOWN } from "../../../http/region.ts";
import type { RequestHead } from "../../../keys/request-head.ts";
import type { Take } from "../../../limiter.ts";
import type { LogEntry, Recorded } from "../log/format.ts";
import type { OpenLog } from "../log/open.ts";
import { type LogClock, LogLimiter, storedKey } from "./limiter.ts";

export interface Configuration {
  /** The file's name. */
  readonly name: string;
  readonly settings: Settings;
}

export interface RunOptions {
  readonly log: OpenLog;
  readonly clock: LogClock;
  /** As for `memoryStore`. */
  readonly maxKeys: number;
  /** The policies that are not replayed, and why, by name. */
  readonly skipped: ReadonlyMap<string, string>;
}

/** What became of a request under a policy. */
export interface PolicyResult {
  readonly policy: Policy;
  readonly client: string;
  readonly refused: boolean;
}

/** An admitted request that leaves no more than this part of a limit was nearly refused. */
const NEAR = 0.05;
/** Clients that are counted of each policy, about 100 bytes each. Decisions are exact for any number of clients. */
const MAX_CLIENTS = 1_000_000;

/** Requests, and the clients that sent them. */
export class Occurrences {
  requests = 0;
  readonly clients = new Set<string>();

  add(client: string): void {
    this.requests++;
    if (this.clients.size < MAX_CLIENTS) this.clients.add(client);
  }

  summary() {
    return { requests: this.requests, clients: this.clients.size };
  }
}

/** What is counted for a policy. */
class PolicyCounts {
  readonly asked = new Occurrences();
  readonly refused = new Occurrences();
  nearMisses = 0;

  summary({ name, mode }: Policy) {
    const { asked, refused, nearMisses } = this;
    return {
      ...{ policy: name, mode, requests: asked.requests, refused: refused.requests },
      ...{ clients: asked.clients.size, refusedClients: refused.clients.size },
      /** Admitted requests that left 5 % or less of a limit. */
      nearMisses,
    };
  }
}

export class ConfigurationRun {
  readonly name: string;
  readonly settings: Settings;
  /** By name, without those that are skipped. */
  readonly policies: ReadonlyMap<string, Policy>;
  /** Of the last request: whether it would have been admitted, what it took, and what became of it. */
  allowed = true;
  takes: readonly Take[] = [];
  results: readonly PolicyResult[] = [];
  region: () => string = () => "";

  readonly #options: RunOptions;
  readonly #limiter: LogLimiter;
  readonly #match: ReturnType<typeof compileMatcher>;
  readonly #counts: ReadonlyMap<string, PolicyCounts>;
  /** By who paid for requests under policies with an overflow. */
  readonly #paidBy = new Map<string, number>();
  /** Policies that recorded lines name, and the configuration does not have. */
  readonly #unknown = new Set<string>();
  readonly #seen = { requests: 0, refused: 0, ids: 0, preflights: 0, options: 0, withoutRegion: 0 };

  constructor({ name, settings }: Configuration, options: RunOptions) {
    const policies = settings.policies.filter((policy) => !options.skipped.has(policy.name));
    this.name = name;
    this.settings = settings;
    this.policies = new Map(policies.map((policy) => [policy.name, policy]));
    this.#options = options;
    this.#limiter = new LogLimiter(policies, options.clock, options.maxKeys);
    this.#match = compileMatcher(policies);
    this.#counts = new Map(policies.map((policy) => [policy.name, new PolicyCounts()]));
  }

  async decide(entry: LogEntry): Promise<void> {
    const { head, recorded } = entry;
    this.region = recorded ? () => recorded.region : this.#regionOf(head);
    this.takes = recorded ? this.#recorded(recorded) : this.#matched(head);
    const decision = await this.#limiter.take(this.takes, this.region, entry);
    this.allowed = decision.allowed;
    this.#seen.requests++;
    if (!this.allowed) this.#seen.refused++;
    this.results = this.#count(decision);
  }

  #count({ limits, shadow, paidBy }: Decision): PolicyResult[] {
    if (paidBy !== undefined) this.#paidBy.set(paidBy, (this.#paidBy.get(paidBy) ?? 0) + 1);
    const all = shadow.length === 0 ? limits : [...limits, ...shadow];
    return this.takes.flatMap(({ policy, key, link }) => {
      const own = all.filter((one) => one.policy.name === policy.name);
      // An overflow that was not needed is not there. The first of its chain was asked, also if another one paid.
      if (own.length === 0 && link !== 0) return [];
      const client = key.values[0]!;
      const counts = this.#counts.get(policy.name)!;
      const isRefused = own.some(({ admitted }) => !admitted);
      counts.asked.add(client);
      if (isRefused) counts.refused.add(client);
      else if (this.allowed && own.some(isNear)) counts.nearMisses++;
      return [{ policy, client, refused: isRefused }];
    });
  }

  #matched(head: RequestHead): Take[] {
    const { region } = this;
    const takes = withLinks(this.#match(head)).map(({ policy, cost, link, isPreflight }) => {
      const key = storedKey(clientKey(policy.key, head, region, this.settings.ipv6Prefix));
      const plan = policy.plan && namedPlan(policy.plan, head, region);
      const id = policy.once && namedOnce(policy.once.source, head, region);
      if (id) this.#seen.ids++;
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
      if (once) this.#seen.ids++;
      const key = storedKey({ kind, values: [partition] });
      const take = { policy, key, cost, plan, once: once ? [once] : undefined };
      return chain.length > 0 ? { ...take, link: later + 1 } : take;
    });
  }

  /** What finds the region that answers a request, when it is asked for the first time. */
  #regionOf(head: RequestHead): () => string {
    const { region, regions } = this.settings;
    if (region !== undefined) return () => region;
    let name: string | undefined;
    return () => {
      if (name === undefined) {
        name = regionOf(head, region, regions);
        if (name === UNKNOWN) this.#seen.withoutRegion++;
      }
      return name;
    };
  }

  summary() {
    const { requests, refused } = this.#seen;
    const policies = [...this.policies.values()].filter((policy) => !this.#isUnnamed(policy));
    return {
      name: this.name,
      requests: { requests, refused },
      policies: policies.map((one) => this.#counts.get(one.name)!.summary(one)),
      /** Policies that could not be replayed, and why. */
      skipped: this.skipped(),
      /** Who paid under policies with an overflow, and for how many requests. */
      paidBy: [...this.#paidBy].map(([policies, requests]) => ({ policies, requests })),
    };
  }

  #isUnnamed({ name }: Policy): boolean {
    return this.#options.log.isRecorded && this.#counts.get(name)?.asked.requests === 0;
  }

  skipped(): { readonly policy: string; readonly reason: string; readonly mode?: Policy["mode"] }[] {
    const own = this.settings.policies.flatMap((one) => {
      const unnamed = this.#isUnnamed(one) ? "no recorded line names it" : undefined;
      const reason = this.#options.skipped.get(one.name) ?? unnamed;
      return reason === undefined ? [] : [{ policy: one.name, reason, mode: one.mode }];
    });
    const reason = "recorded lines name it, and the configuration does not have it";
    return [...own, ...[...this.#unknown].map((policy) => ({ policy, reason }))];
  }

  notes(): string[] {
    const { ids, preflights, options, withoutRegion } = this.#seen;
    const { untimed, forgotten } = this.#limiter;
    const notes: string[] = [];
    for (const { name, meter, count, once } of this.policies.values()) {
      if (this.#counts.get(name)!.asked.clients.size >= MAX_CLIENTS)
        notes.push(`${name} has more clients than are counted: numbers of clients are too small`);
      if (once && ids === 0)
        notes.push(`${name} is replayed as if no request had an id: no request of the log has one`);
      if (meter) notes.push(`${name} counts what was reserved: what was settled later is not recorded`);
      if (count) notes.push(`${name} counts ${count} by the statuses of the log, and no attempts in flight`);
    }
    if (withoutRegion > 0 && this.#options.log.lacks("key continent") !== undefined)
      notes.push(`${withoutRegion} requests had no region by REGIONS and count under ${UNKNOWN}`);
    if (options > 0 && preflights === 0)
      notes.push(`${options} OPTIONS requests were counted; the gateway counts preflights apart, which the log lacks`);
    if (untimed > 0)
      notes.push(`${untimed} requests do not tell how long they took: each holds its slot until the timeout`);
    if (forgotten > 0) notes.push(forgottenNote(forgotten));
    return notes.map((note) => `${this.name}: ${note}`);
  }
}

function isNear({ limit, remaining }: Decision["limits"][0]): boolean {
  return remaining <= NEAR * algorithmOf(limit).quota(limit).quota;
}

export function forgottenNote(keys: number): string {
  return `the memory store had to forget up to ${keys} keys whose counts may have mattered: it may refuse too little`;
}
