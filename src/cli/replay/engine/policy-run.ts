/** What a replay counts for one policy of a configuration. */

import { algorithmOf } from "../../../core/algorithms.ts";
import type { Limit, Policy } from "../../../core/policy.ts";
import type { LimitReply } from "../../../core/take.ts";
import { describeQuota } from "../../../http/quota.ts";
import { type Client, Clients, Tally } from "./clients.ts";
import type { Counts } from "./counts.ts";
import { countsOf } from "./flat-counts.ts";
import type { Named, PolicySummary } from "./summary.ts";
import type { StepCounts, TimeAxis } from "./timeline.ts";

/** How many of the most refused clients are named. */
const MAX_TOP = 10;
/** From this part of a limit on, a client that was never refused has nearly been. */
const NEAR = 0.8;

/** What is kept for a client and a limit: the tenth in which its peak lies, 1 … 10, and two marks. */
const [TENTHS, IS_NEAR, IS_REFUSED] = [15, 16, 32];
const REFUSED_CLASS = 10;

/** The limits of a policy that count together: those of one scope. */
export interface Scope {
  readonly isRegional: boolean;
  readonly limits: readonly Limit[];
  /** Positions in the policy. */
  readonly positions: readonly number[];
}

/** What the replay must know of a policy with a client's numbers. */
interface Numbered {
  readonly policy: Policy;
  readonly scopes: readonly Scope[];
  /** The most units of each limit. */
  readonly quotas: readonly number[];
}

const numberedPolicies = new WeakMap<Policy, Numbered>();

export function numberedOf(policy: Policy): Numbered {
  const known = numberedPolicies.get(policy);
  if (known) return known;
  const scopes = (["global", "region"] as const).flatMap((scope): Scope[] => {
    const positions = policy.limits.flatMap((limit, l) => (limit.scope === scope ? [l] : []));
    if (positions.length === 0) return [];
    return [{ isRegional: scope === "region", positions, limits: positions.map((l) => policy.limits[l]!) }];
  });
  const quotas = policy.limits.map((limit) => algorithmOf(limit).quota(limit).quota);
  const numbered = { policy, scopes, quotas };
  numberedPolicies.set(policy, numbered);
  return numbered;
}

/** A policy that a request takes from. */
export interface Take {
  readonly run: PolicyRun;
  /** Units. */
  readonly cost: number;
  readonly plan: string | undefined;
}

export class PolicyRun {
  /** The policy as it is in force for all clients. */
  readonly policy: Policy;
  readonly clients: Clients;
  /** By region; under "" the counts of all regions. */
  readonly #counts = new Map<string, Counts>();
  /** Other counts of its clients, kept by the same client numbers. */
  readonly others: Pick<Counts, "has">[] = [];

  /** The last request that the policy was for, and what became of it. */
  readonly last = { request: -1, kind: "", text: "", client: 0, refused: false, isBlocked: false };

  requests = 0;
  refused = 0;
  #units = 0;
  #refusedUnits = 0;
  readonly #refusedBy: number[];
  readonly #requestsOf = new Tally();
  readonly #refusedOf = new Tally();
  /** By limit. */
  readonly #peaks: Uint8Array[];
  readonly #timeline: StepCounts;

  constructor(policy: Policy, axis: TimeAxis, maxClients?: number) {
    this.policy = policy;
    this.clients = new Clients(maxClients);
    this.#refusedBy = policy.limits.map(() => 0);
    this.#peaks = policy.limits.map(() => new Uint8Array(1_024));
    this.#timeline = axis.line();
  }

  /** @param region "" for limits that count for all regions. */
  countsOf({ limits }: Scope, region: string): Counts {
    let counts = this.#counts.get(region);
    if (!counts) {
      counts = countsOf(limits, this.clients.maxCounted);
      this.#counts.set(region, counts);
    }
    return counts;
  }

  /** Makes this the last request. @param text of its client. */
  begin(request: number, kind: string, text: string): void {
    const { last } = this;
    last.request = request;
    last.kind = kind;
    last.text = text;
    last.client = this.clients.numberOf(kind, text);
    last.refused = false;
    last.isBlocked = false;
  }

  /** What became of the last request, after its limits were counted. */
  count(cost: number, step: number): void {
    const { client, refused } = this.last;
    this.requests++;
    this.#units += cost;
    if (refused) {
      this.refused++;
      this.#refusedUnits += cost;
      this.#timeline.refused[step]!++;
    } else this.#timeline.admitted[step]!++;
    if (!this.clients.isCounted(client)) return;
    this.#requestsOf.set(client, this.#requestsOf.get(client) + 1);
    if (refused) this.#refusedOf.set(client, this.#refusedOf.get(client) + 1);
  }

  /** @param position of the limit in the policy. */
  countLimit(limit: Limit, position: number, quota: number, { refused, view }: LimitReply, nowMs: number): void {
    if (refused) this.#refusedBy[position]!++;
    const { client } = this.last;
    if (!this.clients.isCounted(client)) return;
    let peaks = this.#peaks[position]!;
    if (client >= peaks.length) {
      const grown = new Uint8Array(2 * client);
      grown.set(peaks);
      this.#peaks[position] = peaks = grown;
    }
    const peak = peaks[client]!;
    const used = quota - algorithmOf(limit).remaining(view, limit, nowMs);
    const tenth = Math.max(1, Math.ceil((10 * used) / quota));
    const marks = (refused ? IS_REFUSED : 0) | (used >= NEAR * quota ? IS_NEAR : 0);
    peaks[client] = (peak & ~TENTHS) | marks | Math.max(peak & TENTHS, tenth);
  }

  sweep(nowMs: number): void {
    for (const counts of this.#counts.values()) counts.sweep(nowMs);
    const all = [...this.#counts.values(), ...this.others];
    this.clients.sweep((client) => all.some((counts) => counts.has(client)));
  }

  summary(axis: TimeAxis, nameOf: (client: Client) => Named): PolicySummary {
    const [requests, refused] = [this.#requestsOf.counts, this.#refusedOf.counts];
    let [clients, refusedClients, nearMisses] = [0, 0, 0];
    const top: number[] = [];
    for (let client = 0; client < requests.length; client++) {
      if (requests[client] === 0) continue;
      clients++;
      const times = refused[client] ?? 0;
      if (times === 0) {
        if (this.#peaks.some((peaks) => (peaks[client] ?? 0) & IS_NEAR)) nearMisses++;
        continue;
      }
      refusedClients++;
      if (top.length === MAX_TOP && times <= refused[top.at(-1)!]!) continue;
      const at = top.findIndex((other) => refused[other]! < times);
      top.splice(at < 0 ? top.length : at, 0, client);
      top.length = Math.min(top.length, MAX_TOP);
    }
    const named = this.clients.clientsOf(new Set(top));
    return {
      policy: this.policy.name,
      mode: this.policy.mode,
      requests: this.requests,
      refused: this.refused,
      units: this.#units,
      refusedUnits: this.#refusedUnits,
      clients,
      refusedClients,
      nearMisses,
      limits: this.policy.limits.map((limit, l) => ({
        id: limit.id,
        words: wordsOf(limit),
        refused: this.#refusedBy[l]!,
        peaks: peakClasses(this.#peaks[l]!),
      })),
      topRefused: top.map((client) => ({
        ...nameOf(named.get(client)!),
        requests: requests[client]!,
        refused: refused[client]!,
      })),
      timeline: axis.timeline(this.#timeline),
    };
  }
}

function peakClasses(peaks: Uint8Array): number[] {
  const classes = new Array<number>(REFUSED_CLASS + 1).fill(0);
  for (const peak of peaks) if (peak > 0) classes[peak & IS_REFUSED ? REFUSED_CLASS : (peak & TENTHS) - 1]!++;
  return classes;
}

function wordsOf(limit: Limit): string {
  return `${describeQuota(limit)}${limit.scope === "region" ? " in each region" : ""}, ${limit.algorithm}`;
}
