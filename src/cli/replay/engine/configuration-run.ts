/** One configuration over a log: the gateway's matcher, keys, live document and decision, entry by entry. */

import type { Settings } from "../../../config/settings.ts";
import { isConcurrency } from "../../../core/concurrency.ts";
import type { Policy } from "../../../core/policy.ts";
import { Flag, groupsRefusedIn, isRepeated, type KeyRequest } from "../../../core/take.ts";
import { type AppliedPolicy, keysOf } from "../../../limiter/decide.ts";
import { applyLive } from "../../../limiter/live/apply.ts";
import type { LiveDocument } from "../../../limiter/live/document.ts";
import { type LiveView, viewOf } from "../../../limiter/live/view.ts";
import { numbersOf } from "../../../limiter/numbers.ts";
import { partitionText } from "../../../partition/hash.ts";
import type { LogEntry } from "../log/format.ts";
import { askedOf, ChainRun, settleChains } from "./chain-run.ts";
import { type Client, type Clients, valuesOf } from "./clients.ts";
import { type CountsOf, takeFrom } from "./counts.ts";
import { type HashText, hasherOf } from "./hash.ts";
import { Matched } from "./matched.ts";
import { type NeedOptions, skippedOf } from "./needs.ts";
import { charges, PolicyRun, type PolicyTake } from "./policy-run.ts";
import { RecordedTakes } from "./recorded.ts";
import type { ConfigurationSummary, Named, SkippedPolicy } from "./summary.ts";
import type { TimeAxis } from "./timeline.ts";

export interface Configuration {
  /** The file's name. */
  readonly name: string;
  readonly settings: Settings;
  /** What operators have changed. Absent: nothing. */
  readonly live?: LiveDocument;
}

/** What all configurations of a replay have in common. */
export interface RunOptions extends NeedOptions {
  readonly axis: TimeAxis;
  readonly clients: Clients;
  /** A client has one name in the report, also if no gateway's secret is known. */
  readonly secretOfRun: string;
  /** Whether the report shows keys beside their hashes. Absent: no. */
  readonly showKeys?: boolean;
  /** The policies of the configuration by which recorded lines were decided. Absent: this one's. */
  readonly recordedBy?: readonly Policy[];
}

/** A policy as it is applied to a client, and the take that it is for. */
interface Applied extends AppliedPolicy {
  readonly take: PolicyTake;
}

/** The request that is decided. */
interface DecidedRequest {
  readonly flag: Flag;
  /** When it ends. Undefined: the log does not tell it. */
  readonly endMs: number | undefined;
  /** Of its answer. Undefined: the log does not tell it. */
  readonly status: number | undefined;
  readonly request: number;
  readonly region: () => string;
}

export class ConfigurationRun {
  readonly name: string;
  readonly settings: Settings;
  /** In the order of the configuration, without those that are skipped. */
  readonly policies: readonly PolicyRun[];
  /** By the policy with the overflow. */
  readonly chains: ReadonlyMap<PolicyRun, ChainRun>;
  /** Policies that could not be replayed, and why. */
  readonly skipped: ReadonlyMap<string, string>;
  /** Whether the last request would have been admitted. */
  allowed = true;
  /** The policies that the last request took from, before the live document. */
  takes: readonly PolicyTake[] = [];
  /** The region that answers the last request. */
  region: () => string = () => "";

  readonly #options: RunOptions;
  readonly #hash: HashText;
  readonly #hasOwnSecret: boolean;
  readonly #view: LiveView | undefined;
  /** The names of policies with overrides: their clients must be hashed. */
  readonly #overridden: ReadonlySet<unknown>;
  readonly #numbers: ReturnType<typeof numbersOf>;
  readonly #matched: Matched;
  readonly #recorded: RecordedTakes;
  readonly #timeline;
  #requests = 0;
  #refused = 0;
  #unknownDurations = 0;

  constructor({ name, settings, live }: Configuration, options: RunOptions) {
    const { axis, carried, clients, isRecorded, secretOfRun, recordedBy = settings.policies } = options;
    this.name = name;
    this.settings = settings;
    this.#options = options;
    this.#timeline = axis.line();
    const { hash, isOwn } = hasherOf(settings, secretOfRun);
    this.#hash = hash;
    this.#hasOwnSecret = isOwn;
    // The partitions of recorded lines and those of the document are under one gateway's secret.
    const secret = (isRecorded && live?.secret) || hash(partitionText({ kind: "live", values: [] }));
    this.#view = live && viewOf(0, live, settings.policies, secret);
    this.#overridden = new Set(live?.overrides.map((one: { policy?: unknown } | null) => one?.policy));

    const skipped = skippedOf(settings, options);
    const policies = settings.policies
      .filter(({ name }) => !skipped.has(name))
      .map((policy) => new PolicyRun(policy, this.inForce(policy), clients, axis));
    this.policies = policies;
    this.skipped = skipped;
    const chained = policies.filter(({ configured }) => configured.chain);
    this.chains = new Map(chained.map((run) => [run, new ChainRun(run, clients)]));
    const asked = askedOf(policies, (policy) => this.inForce(policy));
    this.#numbers = numbersOf(policies.map(({ configured }) => configured));
    this.#matched = new Matched(asked, settings, clients, carried);
    const enforced = settings.policies.filter((policy) => this.inForce(policy).mode === "enforce");
    const skippedEnforced = new Set(enforced.map((policy) => policy.name).filter((name) => skipped.has(name)));
    this.#recorded = new RecordedTakes({ settings, asked, skipped, skippedEnforced, clients, recordedBy });
  }

  /** Of recorded lines: the policies that some line names. */
  get replayed(): readonly PolicyRun[] {
    return this.policies.filter(({ requests }) => requests > 0 || !this.#options.isRecorded);
  }

  /** Whether there is a live document. */
  get hasLive(): boolean {
    return this.#view !== undefined;
  }

  /** The policy as it is in force for all clients. */
  inForce(policy: Policy): Policy {
    return this.#view?.policy(policy) ?? policy;
  }

  nameOf(client: Client): Named {
    const { isRecorded, showKeys = false } = this.#options;
    if (isRecorded) return { client: client.text, kind: client.kind };
    const values = valuesOf(client);
    const hash = this.#hash(partitionText({ kind: client.kind, values }));
    return { client: hash, kind: client.kind, ...(showKeys && { key: values.join("+") }) };
  }

  /** @param request its number. @param nowMs the log's clock. @param step of the time axis. */
  decide({ head, recorded, durationMs, status }: LogEntry, request: number, nowMs: number, step: number): void {
    this.region = recorded ? () => recorded.region : this.#matched.regionOf(head);
    this.takes = recorded ? this.#recorded.takes(recorded) : this.#matched.takes(head, this.region);
    const isRefusedElsewhere = recorded !== undefined && this.#recorded.isRefusedBySkipped(recorded);
    const endMs = durationMs === undefined ? undefined : nowMs + durationMs;
    const flag = isRefusedElsewhere ? Flag.look : Flag.take;
    const { applied, blockedBy } = this.#applied(nowMs);
    for (const take of blockedBy ? this.takes : []) {
      take.isBlocked = take.refused = blockedBy!.includes(take.run.policy.name);
    }
    const decided = { flag, endMs, status, request, region: this.region };
    this.allowed = !blockedBy && this.#isAdmitted(applied, decided, nowMs);
    if (isRefusedElsewhere) this.allowed = false;
    for (const { take } of applied) {
      if (take.isAsked) take.run.count(take, step);
      if (take.link === 0) this.chains.get(take.run)!.count(take, this.allowed, status);
    }
    this.#requests++;
    if (!this.allowed) this.#refused++;
    this.#timeline[this.allowed ? "admitted" : "refused"][step]!++;
  }

  /**
   * The policies with the client's numbers: those of its plan, and what the live document changes. `blockedBy` has the
   * names of the policies under which the client is blocked. Absent: it is not blocked.
   */
  #applied(nowMs: number): { readonly applied: readonly Applied[]; readonly blockedBy?: readonly string[] } {
    const view = this.#view;
    if (!view) {
      const applied = this.takes.map((take): Applied => {
        const { policy, plan } = take;
        return { take, ...appliedOf(take, ""), policy: plan === undefined ? policy : this.#numbers(policy, { plan }) };
      });
      return { applied };
    }
    const named = this.takes.map((take) => {
      const { policy, client, plan } = take;
      const partition = this.#overridden.has(policy.name) ? this.nameOf(client).client : "";
      return { ...appliedOf(take, partition), own: { plan } };
    });
    const { applied, blockedBy } = applyLive(view, named, nowMs, this.#numbers);
    const takeOf = ({ name }: Policy) => this.takes.find(({ run }) => run.policy.name === name)!;
    return {
      applied: applied.map((one) => ({ ...one, take: takeOf(one.policy) })),
      ...(blockedBy && { blockedBy }),
    };
  }

  /** Takes from the counts of all policies, and counts what became of each limit. */
  #isAdmitted(applied: readonly Applied[], decided: DecidedRequest, nowMs: number): boolean {
    const { flag, endMs, status, request, region } = decided;
    const keys = keysOf(applied, region);
    if (keys.length === 0) return true;
    const counts = keys.map((key): CountsOf => {
      const { run, client } = applied[key.take]!.take;
      return { counts: run.countsOf(key.limits[0]!.scope === "region" ? region() : ""), client: client.number };
    });
    const named = keys.map(({ take, request }, k): KeyRequest => {
      const key = { ...request, key: String(k) };
      // What is given back after the answer is not charged at all: a replayed request is over at once.
      return charges(applied[take]!.policy, status) ? key : { ...key, flag: Flag.look };
    });
    const reply = takeFrom(counts, { keys: named, flag, slot: request + 1 }, nowMs, endMs);
    const hasChain = applied.some(({ link }) => link === 0);
    const uncharged = hasChain ? groupsRefusedIn(named, reply.keys) : NO_GROUPS;
    const holds = (key: KeyRequest) => holdsSlots(key) && !uncharged.has(key.group);
    if (endMs === undefined && reply.allowed && flag === Flag.take && named.some(holds)) this.#unknownDurations++;
    if (hasChain) settleChains(applied, keys, uncharged);
    keys.forEach(({ take: t, policy, limits }, k) => {
      const { take, link } = applied[t]!;
      if (!take.isAsked) return;
      // Of two scopes, one may be charged.
      const isFirst = keys[k - 1]?.take !== t;
      take.isRepeat = isRepeated(reply.keys[k]!) && (isFirst || take.isRepeat);
      limits.forEach((limit, l) => {
        const limitReply = reply.keys[k]![l]!;
        if (link === undefined) take.refused ||= limitReply.refused;
        take.run.countLimit(take.client.number, policy, limit, limitReply, nowMs);
      });
    });
    return reply.allowed;
  }

  hasCounts(client: number): boolean {
    return this.policies.some((run) => run.hasCounts(client));
  }

  sweep(nowMs: number): void {
    for (const run of this.policies) run.sweep(nowMs);
  }

  summary(): ConfigurationSummary {
    const nameOf = (client: Client) => this.nameOf(client);
    // No request matches an overflow that has an overflow itself.
    const chains = [...this.chains].filter(([{ policy }, { requests }]) => requests > 0 || !policy.isOverflow);
    const shown = chains.filter(([run]) => this.replayed.includes(run)).map(([, chain]) => chain);
    return {
      name: this.name,
      requests: { requests: this.#requests, refused: this.#refused },
      policies: this.replayed.map((run) => run.summary(nameOf)),
      ...(shown.length > 0 && { chains: shown.map((chain) => chain.summary(nameOf)) }),
      skipped: this.skippedPolicies(),
      timeline: this.#options.axis.timeline(this.#timeline),
    };
  }

  skippedPolicies(): SkippedPolicy[] {
    const { replayed } = this;
    const unnamed = this.policies.filter((run) => !replayed.includes(run));
    return [
      ...this.settings.policies.flatMap((policy) => {
        const reason = this.skipped.get(policy.name);
        return reason === undefined ? [] : [{ policy: policy.name, reason, mode: this.inForce(policy).mode }];
      }),
      ...unnamed.map(({ policy: { name, mode } }) => ({ policy: name, reason: "no recorded line names it", mode })),
      ...this.#recorded.unknownPolicies(),
    ];
  }

  notes(): string[] {
    const { isRecorded } = this.#options;
    const untimed = this.#unknownDurations;
    const notes = [
      ...(isRecorded || this.#hasOwnSecret ? [] : [HASHED]),
      ...liveNotes(this.#view),
      ...this.policies.flatMap((run) => policyNotes(run, isRecorded)),
      ...this.#recorded.notes(),
      ...this.#matched.notes(),
      ...(untimed > 0
        ? [`${untimed} requests do not tell how long they took: each holds its slot until the timeout`]
        : []),
    ];
    return notes.map((note) => `${this.name}: ${note}`);
  }
}

const NO_GROUPS: ReadonlySet<number> = new Set();

function appliedOf({ policy, link, cost, client, once }: PolicyTake, partition: string): AppliedPolicy {
  const more = { ...(link !== undefined && { link }), ...(once !== undefined && { once }) };
  return { policy, kind: client.kind, partition, cost, ...more };
}

function holdsSlots({ cost, limits }: KeyRequest): boolean {
  return cost > 0 && limits.some(isConcurrency);
}

const HASHED = "clients are hashed under a secret of this run, because the gateway's key secret is not known here";

function liveNotes(view: LiveView | undefined): string[] {
  if (!view) return [];
  const other = "overrides of the live document were made under another key secret: their clients cannot be found";
  return [
    ...(view.hasOtherSecret ? [other] : []),
    ...view.unknown.first.map(({ path, reason }) => `the live document's ${path} does nothing: ${reason}`),
  ];
}

function policyNotes(
  { policy: { name, meter, count, once }, hasIds, hasMoreClients }: PolicyRun,
  isRecorded: boolean,
): string[] {
  const settled = `${name} is replayed with the units that were reserved: what was settled later is not recorded`;
  const ended = `${name} counts ${count} by the statuses of the log, and no attempts in flight; what was refused then has the status of that refusal`;
  const more = `${name} has more clients than are counted; its decisions are exact, its numbers of clients are not`;
  const unnamed = `${name} is replayed as if no request had an id, because no request of the log has one`;
  return [
    ...(once && !hasIds ? [unnamed] : []),
    ...(meter && isRecorded ? [settled] : []),
    ...(count ? [ended] : []),
    ...(hasMoreClients ? [more] : []),
  ];
}
