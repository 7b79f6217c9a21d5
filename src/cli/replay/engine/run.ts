/** One configuration over a log: the gateway's matcher, keys and limiter, request by request. */

import type { Settings } from "../../../config/settings.ts";
import { algorithmOf } from "../../../core/algorithms.ts";
import type { Decision, LimitDecision } from "../../../core/decision.ts";
import type { Limit, Policy } from "../../../core/policy.ts";
import { clientKey, namedOnce, namedPlan } from "../../../http/key.ts";
import { withLinks } from "../../../http/links.ts";
import { compileMatcher, isPreflight, sameRequest } from "../../../http/match.ts";
import { describeQuota } from "../../../http/quota.ts";
import { regionOf, UNKNOWN } from "../../../http/region.ts";
import type { RequestHead } from "../../../keys/request-head.ts";
import type { LiveDocument } from "../../../limiter/live/document.ts";
import { type LiveView, viewOf } from "../../../limiter/live/view.ts";
import type { Take } from "../../../limiter.ts";
import type { LogEntry, Recorded } from "../log/format.ts";
import type { OpenLog } from "../log/open.ts";
import { ClientSet, type Clients, type Hasher, hasherOf } from "./clients.ts";
import { type LogClock, LogLimiter } from "./limiter.ts";

/** From this part of a limit on, a client that was never refused has nearly been. */
const NEAR = 0.8;
/** How many of the most refused clients are named. */
const MAX_TOP = 10;

export interface Configuration {
  /** The file's name. */
  readonly name: string;
  readonly settings: Settings;
  /** What operators have changed. Absent: nothing. */
  readonly live?: LiveDocument;
}

export interface RunOptions {
  readonly log: Pick<OpenLog, "lacks" | "isRecorded">;
  readonly clock: LogClock;
  readonly clients: Clients;
  /** As for `memoryStore`. */
  readonly maxKeys: number;
  /** Whether the report shows keys beside their hashes. */
  readonly showKeys: boolean;
  /** The policies that are not replayed, and why, by name. */
  readonly skipped: ReadonlyMap<string, string>;
}

/** A policy that a request takes from. */
export interface ReplayTake extends Take {
  /** As in `Client`. */
  readonly client: number | undefined;
}

/** What became of a request under a policy. */
export interface Outcome {
  readonly policy: string;
  readonly client: number | undefined;
  isAsked: boolean;
  refused: boolean;
  /** It refused the request, not only in shadow. */
  enforced: boolean;
}

/** A client as people see it. */
export interface Named {
  /** The hash of the client's key, as the store and the admin API know it. */
  readonly client: string;
  readonly kind: string;
  /** The key itself. Undefined without `--show-keys`, and of recorded lines. */
  readonly key: string | undefined;
}

/** What is counted for a policy. */
class PolicyCounts {
  requests = 0;
  refused = 0;
  readonly clients = new ClientSet();
  readonly near = new ClientSet();
  /** By client: its refused requests. */
  readonly refusedOf = new Map<number, number>();
  /** By the id of a limit. */
  readonly refusedBy = new Map<string, number>();
  readonly policy: Policy;

  /** @param policy as it is in force for all clients. */
  constructor(policy: Policy) {
    this.policy = policy;
  }

  countLimit({ limit, admitted, remaining }: LimitDecision, client: number | undefined): void {
    if (!admitted) this.refusedBy.set(limit.id, (this.refusedBy.get(limit.id) ?? 0) + 1);
    const { quota } = algorithmOf(limit).quota(limit);
    if (quota - remaining >= NEAR * quota) this.near.add(client);
  }

  count({ client, refused }: Outcome): void {
    this.requests++;
    this.clients.add(client);
    if (!refused) return;
    this.refused++;
    if (client !== undefined) this.refusedOf.set(client, (this.refusedOf.get(client) ?? 0) + 1);
  }

  summary(namesOf: ConfigurationRun["namesOf"]) {
    const { policy, requests, refused, clients, near, refusedOf } = this;
    let nearMisses = near.size;
    for (const client of refusedOf.keys()) if (near.has(client)) nearMisses--;
    const top = [...refusedOf].sort(([, a], [, b]) => b - a).slice(0, MAX_TOP);
    const names = namesOf(top.map(([client]) => client));
    return {
      ...{ policy: policy.name, mode: policy.mode, requests, refused },
      ...{ clients: clients.size, refusedClients: refusedOf.size, nearMisses },
      limits: policy.limits.map((limit) => ({
        id: limit.id,
        words: wordsOf(limit),
        refused: this.refusedBy.get(limit.id) ?? 0,
      })),
      /** The clients with the most refused requests, at most 10. */
      topRefused: top.map(([, refused], i) => ({ ...names[i]!, refused })),
    };
  }
}

function wordsOf(limit: Limit): string {
  return `${describeQuota(limit)}${limit.scope === "region" ? " in each region" : ""}, ${limit.algorithm}`;
}

export class ConfigurationRun {
  readonly name: string;
  readonly settings: Settings;
  /** By name, without those that are skipped. */
  readonly policies: ReadonlyMap<string, Policy>;
  readonly limiter: LogLimiter;
  requests = 0;
  refused = 0;
  /** Of the last request: whether it would have been admitted, what it took, and what became of it. */
  allowed = true;
  takes: readonly ReplayTake[] = [];
  outcomes: readonly Outcome[] = [];
  region: () => string = () => "";

  readonly #options: RunOptions;
  readonly #hasher: Hasher;
  readonly #view: LiveView | undefined;
  /** The names of policies with overrides: their clients must be hashed. */
  readonly #overridden: ReadonlySet<unknown>;
  readonly #match: ReturnType<typeof compileMatcher>;
  readonly #counts: ReadonlyMap<string, PolicyCounts>;
  /** By who paid for requests under policies with an overflow. */
  readonly #paidBy = new Map<string, number>();
  #blockedBy: readonly string[] = [];
  readonly #unknown = new Map<string, number>();
  readonly #seen = { ids: false, preflights: false, options: 0, withoutRegion: 0, refusedElsewhere: 0 };

  constructor({ name, settings, live }: Configuration, options: RunOptions) {
    const { log, clock, maxKeys, skipped } = options;
    this.name = name;
    this.settings = settings;
    this.#options = options;
    this.#hasher = hasherOf(settings);
    // The partitions of recorded lines and those of the document are under one gateway's secret.
    const secret = (log.isRecorded && live?.secret) || this.#hasher.hash({ kind: "live", values: [] });
    this.#view = live && viewOf(0, live, settings.policies, secret);
    this.#overridden = new Set(live?.overrides.map((one: { policy?: unknown } | null) => one?.policy));
    const policies = settings.policies.filter((policy) => !skipped.has(policy.name));
    this.policies = new Map(policies.map((policy) => [policy.name, policy]));
    this.#counts = new Map(policies.map((policy) => [policy.name, new PolicyCounts(this.inForce(policy))]));
    this.#match = compileMatcher(policies);
    const onDecision = (_: Decision, { blocked = [] }: { readonly blocked?: readonly string[] }) => {
      this.#blockedBy = blocked;
    };
    this.limiter = new LogLimiter(policies, { clock, maxKeys, live: this.#view, onDecision });
  }

  /** The policy as it is in force for all clients. */
  inForce(policy: Policy): Policy {
    return this.#view?.policy(policy) ?? policy;
  }

  async decide(entry: LogEntry): Promise<void> {
    const { head, recorded } = entry;
    this.region = recorded ? () => recorded.region : this.#regionOf(head);
    this.takes = recorded ? this.#recorded(recorded) : this.#matched(head);
    const isRefusedElsewhere = recorded !== undefined && this.#isRefusedBySkipped(recorded);
    this.#blockedBy = [];
    const decision = await this.limiter.take(this.takes, this.region, entry, isRefusedElsewhere);
    this.allowed = decision.allowed && !isRefusedElsewhere;
    this.requests++;
    if (!this.allowed) this.refused++;
    this.outcomes = this.#count(decision);
  }

  #count({ limits, shadow, paidBy }: Decision): Outcome[] {
    const outcomes = this.takes.map(({ policy: { name }, client, link }): Outcome => {
      const isBlocked = this.#blockedBy.includes(name);
      return { policy: name, client, isAsked: isBlocked || link === 0, refused: isBlocked, enforced: isBlocked };
    });
    for (const decided of [limits, shadow]) {
      for (const one of decided) {
        const outcome = outcomes.find(({ policy }) => policy === one.policy.name)!;
        outcome.isAsked = true;
        outcome.refused ||= !one.admitted;
        outcome.enforced ||= !one.admitted && decided === limits;
        this.#counts.get(outcome.policy)!.countLimit(one, outcome.client);
      }
    }
    for (const one of outcomes) if (one.isAsked) this.#counts.get(one.policy)!.count(one);
    if (paidBy !== undefined) this.#paidBy.set(paidBy, (this.#paidBy.get(paidBy) ?? 0) + 1);
    return outcomes;
  }

  #matched(head: RequestHead): ReplayTake[] {
    const { region } = this;
    const takes = withLinks(this.#match(head)).map(({ policy, cost, link }) => {
      const key = clientKey(policy.key, head, region, this.settings.ipv6Prefix);
      const plan = policy.plan && namedPlan(policy.plan, head, region);
      const id = policy.once && namedOnce(policy.once.source, head, region);
      return this.#takeOf({ policy, key, cost, plan, link, once: id && [...id, ...sameRequest(head)] });
    });
    if (head.method === "OPTIONS") {
      this.#seen.preflights ||= isPreflight(head);
      // A policy that names OPTIONS counts preflights, too.
      if (takes.some(({ policy }) => !policy.match.method?.includes("OPTIONS"))) this.#seen.options++;
    }
    return takes;
  }

  #recorded({ takes }: Recorded): ReplayTake[] {
    let chain: readonly Policy[] = [];
    return takes.flatMap(({ policy: name, kind, partition, cost, plan, once }) => {
      const later = chain.findIndex((one) => one.name === name);
      const policy = chain[later] ?? this.policies.get(name);
      if (!policy) {
        if (!this.#options.skipped.has(name)) this.#unknown.set(name, (this.#unknown.get(name) ?? 0) + 1);
        return [];
      }
      if (later < 0) chain = policy.chain ?? [];
      const link = chain.length > 0 ? later + 1 : undefined;
      const key = { kind, values: [partition] };
      return this.#takeOf({ policy, key, cost, plan, link, once: once === undefined ? undefined : [once] });
    });
  }

  #takeOf({ link, ...take }: Omit<Take, "link"> & { readonly link: number | undefined }): ReplayTake {
    const { kind, values } = take.key;
    const { number, partition } = this.#options.clients.of(take.key);
    this.#seen.ids ||= take.once !== undefined;
    const isHashed = this.#overridden.has(take.policy.name);
    const hashed = () => (this.#options.log.isRecorded ? values[0]! : this.#hasher.hash(take.key));
    const key = { kind, values: [isHashed ? hashed() : partition] };
    return { ...take, key, client: number, ...(link !== undefined && { link }) };
  }

  /** What a policy that is not replayed has refused stays refused: it charged nothing. */
  #isRefusedBySkipped({ takes, allowed }: Recorded): boolean {
    if (allowed || !takes.some(({ policy, refused }) => refused && this.#options.skipped.has(policy))) return false;
    this.#seen.refusedElsewhere++;
    return true;
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

  /** The clients with these numbers, as people see them. */
  readonly namesOf = (clients: readonly number[]): Named[] => {
    const { log, showKeys } = this.#options;
    const keys = this.#options.clients.keys(new Set(clients));
    return clients.map((client) => {
      const key = keys.get(client)!;
      const { kind, values } = key;
      if (log.isRecorded) return { client: values[0]!, kind, key: undefined };
      return { client: this.#hasher.hash(key), kind, key: showKeys ? values.join("+") : undefined };
    });
  };

  summary() {
    const { name, requests, refused } = this;
    const { log } = this.#options;
    const all = [...this.#counts.values()];
    const replayed = log.isRecorded ? all.filter((one) => one.requests > 0) : all;
    return {
      name,
      requests: { requests, refused },
      policies: replayed.map((one) => one.summary(this.namesOf)),
      /** Policies that could not be replayed, and why. */
      skipped: this.skipped(),
      /** Who paid under policies with an overflow, and for how many requests. */
      paidBy: [...this.#paidBy].map(([policies, requests]) => ({ policies, requests })),
    };
  }

  skipped(): { readonly policy: string; readonly reason: string; readonly mode?: Policy["mode"] }[] {
    const { log, skipped } = this.#options;
    const unnamed = log.isRecorded ? [...this.#counts.values()].filter(({ requests }) => requests === 0) : [];
    return [
      ...this.settings.policies
        .filter((policy) => skipped.has(policy.name))
        .map((one) => ({ policy: one.name, reason: skipped.get(one.name)!, mode: this.inForce(one).mode })),
      ...unnamed.map(({ policy: { name, mode } }) => ({ policy: name, reason: "no recorded line names it", mode })),
      ...[...this.#unknown].map(([policy, lines]) => ({
        policy,
        reason: `${lines} recorded lines name it, and the configuration does not have it`,
      })),
    ];
  }

  notes(): string[] {
    const { log } = this.#options;
    const { ids, preflights, options, withoutRegion, refusedElsewhere } = this.#seen;
    const { untimed, forgotten } = this.limiter;
    const notes: string[] = [];
    if (!log.isRecorded && !this.#hasher.isOwn) notes.push(HASHED);
    if (this.#view?.hasOtherSecret) notes.push(OTHER_SECRET);
    for (const { path, reason } of this.#view?.unknown.first ?? []) {
      notes.push(`the live document's ${path} does nothing: ${reason}`);
    }
    for (const { name, meter, count, once } of this.policies.values()) {
      if (once && !ids) notes.push(`${name} is replayed as if no request had an id: no request of the log has one`);
      if (meter) notes.push(`${name} counts what was reserved: what was settled later is not recorded`);
      if (count) notes.push(`${name} counts ${count} by the statuses of the log, and no attempts in flight`);
    }
    if (refusedElsewhere > 0) {
      notes.push(`${refusedElsewhere} requests stay refused as recorded, by policies that are not replayed`);
    }
    if (log.lacks("key continent") !== undefined && withoutRegion > 0) {
      notes.push(`${withoutRegion} requests had no region by REGIONS and count under ${UNKNOWN}`);
    }
    if (options > 0 && !preflights) {
      notes.push(`${options} OPTIONS requests were counted; the gateway passes CORS preflights, which the log lacks`);
    }
    if (untimed > 0) {
      notes.push(`${untimed} requests do not tell how long they took: each holds its slot until the timeout`);
    }
    if (forgotten > 0) notes.push(forgottenNote(forgotten));
    return notes.map((note) => `${this.name}: ${note}`);
  }
}

export function forgottenNote(keys: number): string {
  return `the memory store had to forget up to ${keys} keys whose counts may have mattered: it may refuse too little`;
}

const HASHED = "clients are hashed under a secret of this run, because the gateway's key secret is not known here";
const OTHER_SECRET = "overrides of the live document were made under another key secret: their clients cannot be found";
