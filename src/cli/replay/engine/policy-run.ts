/** What a replay counts for one policy of a configuration. */

import { algorithmOf } from "../../../core/algorithms.ts";
import type { Limit, Policy } from "../../../core/policy.ts";
import type { LimitReply } from "../../../core/take.ts";
import { endingBy } from "../../../http/ending.ts";
import { describeQuota } from "../../../http/quota.ts";
import { type Client, ClientCounts, type Clients } from "./clients.ts";
import { Counts } from "./counts.ts";
import type { Named, PolicySummary } from "./summary.ts";
import type { StepCounts, TimeAxis } from "./timeline.ts";

/** How many of the most refused clients are named. */
const MAX_TOP = 10;
/** From this part of a limit on, a client that was never refused has nearly been. */
const NEAR = 0.8;

/** What is kept for a client and a limit: the tenth in which its peak lies, 1 … 10, and two marks. */
const [TENTHS, IS_NEAR, IS_REFUSED] = [15, 16, 32];
const REFUSED_CLASS = 10;

/** A policy that a request takes from, and what becomes of it. */
export interface PolicyTake {
  readonly run: PolicyRun;
  /** As in `Asked`. */
  readonly policy: Policy;
  /** As in `AppliedPolicy`. */
  readonly link: number | undefined;
  /** Units. */
  readonly cost: number;
  readonly plan: string | undefined;
  readonly client: Client & { readonly number: number };
  /** The id of the request, with what else makes it the same. Undefined: it has none. */
  readonly once: string | undefined;
  /** False: an overflow that was not needed. */
  isAsked: boolean;
  /** The request was a repeat, and was not charged. */
  isRepeat: boolean;
  /** A limit of the policy refused; in a chain: every policy of the chain. */
  refused: boolean;
  /** Of a policy with an overflow: who pays. Undefined: nobody, or the policy has none. */
  payer: PolicyTake | undefined;
  /** An operator has blocked the client under this policy. */
  isBlocked: boolean;
}

/** A take before the request is decided. */
export function undecided(
  take: Omit<PolicyTake, "isAsked" | "isRepeat" | "refused" | "payer" | "isBlocked">,
): PolicyTake {
  return { ...take, isAsked: !take.link, isRepeat: false, refused: false, payer: undefined, isBlocked: false };
}

/** Whether a request stays charged. @param status of its answer. Absent: nobody has learned it. */
export function charges({ count }: Policy, status: number | undefined): boolean {
  return count === undefined || status === undefined || count === endingBy(status);
}

export class PolicyRun {
  /** The policy without what the live document changes. */
  readonly configured: Policy;
  /** The policy as it is in force for all clients. */
  readonly policy: Policy;
  requests = 0;
  #refused = 0;
  #units = 0;
  #refusedUnits = 0;
  /** A request had an id. */
  hasIds = false;
  /** It has had clients that are not counted. */
  hasMoreClients = false;

  readonly #clients: Clients;
  /** By region; under "" the counts of all regions. */
  readonly #counts = new Map<string, Counts>();
  readonly #requestsOf = new ClientCounts();
  readonly #refusedOf = new ClientCounts();
  /** By limit. */
  readonly #refusedBy: number[];
  readonly #peaks: readonly ClientCounts[];
  readonly #axis: TimeAxis;
  readonly #timeline: StepCounts;

  constructor(configured: Policy, policy: Policy, clients: Clients, axis: TimeAxis) {
    this.configured = configured;
    this.policy = policy;
    this.#clients = clients;
    this.#refusedBy = policy.limits.map(() => 0);
    this.#peaks = policy.limits.map(() => new ClientCounts());
    this.#axis = axis;
    this.#timeline = axis.line();
  }

  /** @param region "" for limits that count for all regions. */
  countsOf(region: string): Counts {
    let counts = this.#counts.get(region);
    if (!counts) {
      counts = new Counts();
      this.#counts.set(region, counts);
    }
    return counts;
  }

  /** What became of a request. @param step of the time axis. */
  count({ client, cost: asked, once, isRepeat, refused }: PolicyTake, step: number): void {
    const cost = isRepeat ? 0 : asked;
    this.requests++;
    this.hasIds ||= once !== undefined;
    this.#units += cost;
    this.#timeline[refused ? "refused" : "admitted"][step]!++;
    if (refused) {
      this.#refused++;
      this.#refusedUnits += cost;
    }
    if (!this.#clients.isCounted(client.number)) {
      this.hasMoreClients = true;
      return;
    }
    this.#requestsOf.increment(client.number);
    if (refused) this.#refusedOf.increment(client.number);
  }

  /** @param policy with the numbers that hold for the client, of which the limit is one. */
  countLimit(client: number, policy: Policy, limit: Limit, { refused, view }: LimitReply, nowMs: number): void {
    const position = policy.limits.indexOf(limit);
    if (refused) this.#refusedBy[position]!++;
    if (!this.#clients.isCounted(client)) return;
    const algorithm = algorithmOf(limit);
    const { quota } = algorithm.quota(limit);
    const used = quota - algorithm.remaining(view, limit, nowMs);
    const tenth = Math.max(1, Math.ceil((10 * used) / quota));
    const peaks = this.#peaks[position]!;
    const peak = peaks.get(client);
    const marks = (refused ? IS_REFUSED : 0) | (used >= NEAR * quota ? IS_NEAR : 0);
    peaks.set(client, (peak & ~TENTHS) | marks | Math.max(peak & TENTHS, tenth));
  }

  hasCounts(client: number): boolean {
    return [...this.#counts.values()].some((counts) => counts.has(client));
  }

  sweep(nowMs: number): void {
    for (const counts of this.#counts.values()) counts.sweep(nowMs);
  }

  summary(nameOf: (client: Client) => Named): PolicySummary {
    let [clients, refusedClients, nearMisses] = [0, 0, 0];
    for (const [client, requests] of this.#requestsOf.counts.entries()) {
      if (requests === 0) continue;
      clients++;
      if (this.#refusedOf.get(client) > 0) refusedClients++;
      else if (this.#peaks.some((peaks) => peaks.get(client) & IS_NEAR)) nearMisses++;
    }
    const top = this.#refusedOf.top(MAX_TOP);
    const named = this.#clients.withNumbers(new Set(top));
    return {
      policy: this.policy.name,
      mode: this.policy.mode,
      ...(this.policy.isOverflow && { isOverflow: true }),
      requests: this.requests,
      refused: this.#refused,
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
        requests: this.#requestsOf.get(client),
        refused: this.#refusedOf.get(client),
      })),
      timeline: this.#axis.timeline(this.#timeline),
    };
  }
}

function peakClasses({ counts }: ClientCounts): number[] {
  const classes = new Array<number>(REFUSED_CLASS + 1).fill(0);
  for (const peak of counts) if (peak > 0) classes[peak & IS_REFUSED ? REFUSED_CLASS : (peak & TENTHS) - 1]!++;
  return classes;
}

function wordsOf(limit: Limit): string {
  return `${describeQuota(limit)}${limit.scope === "region" ? " in each region" : ""}, ${limit.algorithm}`;
}
