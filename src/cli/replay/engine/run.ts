/** One configuration over a log: the gateway's matcher, keys and limiter, request by request. */

import type { Settings } from "../../../config/settings.ts";
import { algorithmOf } from "../../../core/algorithms.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Policy } from "../../../core/policy.ts";
import { clientKey, namedOnce, namedPlan } from "../../../http/key.ts";
import { withLinks } from "../../../http/links.ts";
import { compileMatcher, isPreflight, sameRequest } from "../../../http/match.ts";
import { describeQuota } from "../../../http/quota.ts";
import { regionOf, UNKNOWN } from "../../../http/region.ts";
import type { RequestHead } from "../../../keys/request-head.ts";
import type { Take } from "../../../limiter.ts";
import type { LogEntry, Recorded } from "../log/format.ts";
import type { OpenLog } from "../log/open.ts";
import type { Clients } from "./clients.ts";
import { type LogClock, LogLimiter } from "./limiter.ts";

/** From this part of a limit on, a client that was never refused has nearly been. */
const NEAR = 0.8;

export interface Configuration {
  /** The file's name. */
  readonly name: string;
  readonly settings: Settings;
}

export interface RunOptions {
  readonly log: OpenLog;
  readonly clock: LogClock;
  readonly clients: Clients;
  /** As for `memoryStore`. */
  readonly maxKeys: number;
  /** The policies that are not replayed, and why, by name. */
  readonly skipped: ReadonlyMap<string, string>;
}

/** A policy that a request takes from. The value of its key is the text that stands for the client in the store. */
export interface ReplayTake extends Take {
  /** The client's number. Undefined: it is not counted. */
  readonly client: number | undefined;
}

/** What became of a request under a policy. */
export interface PolicyResult {
  readonly policy: Policy;
  readonly client: number | undefined;
  /** False: an overflow that was not needed. */
  isAsked: boolean;
  refused: boolean;
}

/** What is counted for a policy. */
class PolicyCounts {
  requests = 0;
  refused = 0;
  readonly clients = new Set<number>();
  readonly refusedClients = new Set<number>();
  readonly near = new Set<number>();
  /** By the id of a limit. */
  readonly refusedBy = new Map<string, number>();

  count({ client, refused }: PolicyResult): void {
    this.requests++;
    if (refused) this.refused++;
    if (client === undefined) return;
    this.clients.add(client);
    if (refused) this.refusedClients.add(client);
  }

  summary({ name, mode, limits }: Policy) {
    const { requests, refused, clients, refusedClients, near } = this;
    return {
      ...{ policy: name, mode, requests, refused, clients: clients.size, refusedClients: refusedClients.size },
      /** Clients that were never refused and used at least 80 % of a limit. */
      nearMisses: [...near].filter((client) => !refusedClients.has(client)).length,
      limits: limits.map((limit) => {
        const words = `${describeQuota(limit)}${limit.scope === "region" ? " in each region" : ""}, ${limit.algorithm}`;
        return { id: limit.id, words, refused: this.refusedBy.get(limit.id) ?? 0 };
      }),
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
  takes: readonly ReplayTake[] = [];
  results: readonly PolicyResult[] = [];
  region: () => string = () => "";

  readonly #options: RunOptions;
  readonly #limiter: LogLimiter;
  readonly #match: ReturnType<typeof compileMatcher>;
  readonly #counts: ReadonlyMap<string, PolicyCounts>;
  /** By who paid for requests under policies with an overflow. */
  readonly #paidBy = new Map<string, number>();
  readonly #unknown = new Set<string>();
  readonly #seen = { requests: 0, refused: 0, ids: 0, preflights: 0, options: 0, withoutRegion: 0, elsewhere: 0 };

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
    // What a policy that is not replayed has refused stays refused: it charged nothing.
    const isSkipped = ({ policy, refused }: Recorded["takes"][0]) => refused && this.#options.skipped.has(policy);
    const isRefusedElsewhere = recorded?.allowed === false && recorded.takes.some(isSkipped);
    const decision = await this.#limiter.take(this.takes, this.region, entry, isRefusedElsewhere);
    this.allowed = decision.allowed && !isRefusedElsewhere;
    this.#seen.requests++;
    if (isRefusedElsewhere) this.#seen.elsewhere++;
    if (!this.allowed) this.#seen.refused++;
    this.results = this.#count(decision);
  }

  #count({ limits, shadow, paidBy }: Decision): PolicyResult[] {
    const results = this.takes.map(({ policy, client, link }): PolicyResult => {
      return { policy, client, isAsked: link === 0, refused: false };
    });
    for (const { policy, limit, admitted, remaining } of [...limits, ...shadow]) {
      const result = results.find((one) => one.policy.name === policy.name)!;
      result.isAsked = true;
      result.refused ||= !admitted;
      const { refusedBy, near } = this.#counts.get(policy.name)!;
      if (!admitted) refusedBy.set(limit.id, (refusedBy.get(limit.id) ?? 0) + 1);
      const { quota } = algorithmOf(limit).quota(limit);
      if (quota - remaining >= NEAR * quota && result.client !== undefined) near.add(result.client);
    }
    for (const one of results) if (one.isAsked) this.#counts.get(one.policy.name)!.count(one);
    if (paidBy !== undefined) this.#paidBy.set(paidBy, (this.#paidBy.get(paidBy) ?? 0) + 1);
    return results;
  }

  #matched(head: RequestHead): ReplayTake[] {
    const { region } = this;
    const takes = withLinks(this.#match(head)).map(({ policy, cost, link }) => {
      const key = clientKey(policy.key, head, region, this.settings.ipv6Prefix);
      const plan = policy.plan && namedPlan(policy.plan, head, region);
      const id = policy.once && namedOnce(policy.once.source, head, region);
      return this.#takeOf({ policy, key, cost, plan, once: id && [...id, ...sameRequest(head)] }, link);
    });
    // A policy that names OPTIONS counts preflights, too.
    if (isPreflight(head)) this.#seen.preflights++;
    else if (head.method === "OPTIONS" && takes.length > 0) this.#seen.options++;
    return takes;
  }

  #recorded({ takes }: Recorded): ReplayTake[] {
    let chain: readonly Policy[] = [];
    return takes.flatMap(({ policy: name, kind, partition, cost, plan, once }) => {
      const later = chain.findIndex((one) => one.name === name);
      const policy = chain[later] ?? this.policies.get(name);
      if (!policy) {
        if (!this.#options.skipped.has(name)) this.#unknown.add(name);
        return [];
      }
      if (later < 0) chain = policy.chain ?? [];
      const take = { policy, key: { kind, values: [partition] }, cost, plan, once: once ? [once] : undefined };
      return this.#takeOf(take, chain.length > 0 ? later + 1 : undefined);
    });
  }

  #takeOf(take: Take, link: number | undefined): ReplayTake {
    const [client, partition] = this.#options.clients.of(take.key);
    if (take.once) this.#seen.ids++;
    const known = { ...take, key: { kind: take.key.kind, values: [partition] }, client };
    return link === undefined ? known : { ...known, link };
  }

  /** What finds the region that answers a request, when it is asked for the first time. */
  #regionOf(head: RequestHead): () => string {
    let name: string | undefined;
    return () => {
      if (name !== undefined) return name;
      const { region, regions } = this.settings;
      name = regionOf(head, region, regions);
      if (region === undefined && name === UNKNOWN) this.#seen.withoutRegion++;
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
    return this.#options.log.isRecorded && this.#counts.get(name)?.requests === 0;
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
    const { ids, preflights, options, withoutRegion, elsewhere } = this.#seen;
    const { untimed, forgotten } = this.#limiter;
    const notes: string[] = [];
    const add = (isTrue: unknown, note: string) => void (isTrue && notes.push(`${this.name}: ${note}`));
    for (const { name, meter, count, once } of this.policies.values()) {
      add(once && ids === 0, `${name} is replayed as if no request had an id: no request of the log has one`);
      add(meter, `${name} counts what was reserved: what was settled later is not recorded`);
      add(count, `${name} counts ${count} by the statuses of the log, and no attempts in flight`);
    }
    add(elsewhere, `${elsewhere} requests stay refused as recorded, by policies that are not replayed`);
    const lacksRegions = withoutRegion > 0 && this.#options.log.lacks("key continent") !== undefined;
    add(lacksRegions, `${withoutRegion} requests had no region by REGIONS and count under ${UNKNOWN}`);
    const counted = preflights > 0 ? 0 : options;
    add(counted, `${counted} OPTIONS requests were counted; the gateway passes CORS preflights, which the log lacks`);
    add(untimed, `${untimed} requests do not tell how long they took: each holds its slot until the timeout`);
    add(forgotten, forgottenNote(forgotten));
    return notes;
  }
}

export function forgottenNote(keys: number): string {
  return `the memory store had to forget up to ${keys} keys whose counts may have mattered: it may refuse too little`;
}
