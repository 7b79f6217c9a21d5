/** How much other numbers would refuse: every limit alone, with every candidate for its number, in the same pass. */

import type { KeptValue } from "../../../core/algorithm.ts";
import { algorithmOf, type LimitRecord, type LimitValue } from "../../../core/algorithms.ts";
import { isConcurrency } from "../../../core/concurrency.ts";
import { misfit, withWritten } from "../../../core/numbers.ts";
import type { Limit, Policy } from "../../../core/policy.ts";
import { toWritten } from "../../../core/units.ts";
import { numbersOf, withNumbers } from "../../../limiter/numbers.ts";
import type { LogEntry } from "../log/format.ts";
import { ClientCounts, type Clients } from "./clients.ts";
import type { ConfigurationRun } from "./configuration-run.ts";
import { Expiring } from "./counts.ts";
import { charges, type PolicyRun, type PolicyTake } from "./policy-run.ts";
import type { Suggestion } from "./summary.ts";

export class Suggesting {
  readonly #run: ConfigurationRun;
  readonly #share: number;
  readonly #limits: ReadonlyMap<PolicyRun, readonly LimitCandidates[]>;
  readonly #all: readonly LimitCandidates[];

  /** @param share of refused requests that is too much, 0 to 1. */
  constructor(run: ConfigurationRun, share: number, clients: Clients) {
    this.#run = run;
    this.#share = share;
    this.#limits = new Map(
      run.policies.map((policyRun) => {
        const { configured } = policyRun;
        return [policyRun, configured.limits.map((limit) => new LimitCandidates(configured, limit, clients))];
      }),
    );
    this.#all = [...this.#limits.values()].flat();
  }

  /** Decides about a request after the configuration has. @param request its number. */
  decide({ durationMs, status }: LogEntry, request: number, nowMs: number): void {
    const { takes, region } = this.#run;
    for (const take of takes) {
      if (!take.isAsked) continue;
      const isCharged = charges(take.policy, status);
      const counted = { region, durationMs, isCharged, request, nowMs };
      for (const limit of this.#limits.get(take.run)!) limit.take(take, counted);
    }
  }

  hasCounts(client: number): boolean {
    return this.#all.some((limit) => limit.hasCounts(client));
  }

  sweep(nowMs: number): void {
    for (const limit of this.#all) limit.sweep(nowMs);
  }

  summary(): Suggestion[] {
    return this.#run.replayed.flatMap((run) => this.#limits.get(run)!.map((limit) => limit.summary(this.#share)));
  }

  notes(): string[] {
    return [...(this.#run.hasLive ? [LIVE_LEFT_OUT] : []), ...(this.#run.chains.size > 0 ? [CHAINS_LEFT_OUT] : [])];
  }
}

const LIVE_LEFT_OUT =
  "Suggestions are for the numbers of the configuration: what the live document changes is left out";
const CHAINS_LEFT_OUT =
  "Suggestions try each limit without its chain: what a policy refuses is refused, whoever would pay, and an overflow is " +
  "tried on the requests that come to it now";

/** Ten round numbers for each power of ten. */
const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
/** From a hundredth of the present number to a hundred times of it. */
const REACH = 100;

/** Rising numbers as they are written in the configuration: round ones, and the present one. */
function candidatesOf(limit: Limit): number[] {
  const present = toWritten(limit.limit, limit.unit);
  const [least, most] = [present / REACH, present * REACH];
  const numbers = new Set([present]);
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++) {
    for (const round of ROUND) {
      const number = Number(`${round}e${power}`);
      if (number < least || number > most) continue;
      if (misfit(withWritten(limit, number)) === undefined) numbers.add(number);
    }
  }
  return [...numbers].sort((a, b) => a - b);
}

/** The counts of neighbouring candidates, which have admitted the same requests until now. */
interface Group {
  /** The position after the last candidate. */
  end: number;
  readonly record: LimitRecord | undefined;
  readonly value: LimitValue | undefined;
}

/** What all candidates count for a client. */
interface CandidateCounts {
  groups: readonly Group[];
  expiresAtMs: number;
}

interface CountedRequest {
  readonly region: () => string;
  /** Undefined: the log does not tell it. */
  readonly durationMs: number | undefined;
  /** Whether its units stay charged after the answer. */
  readonly isCharged: boolean;
  readonly request: number;
  readonly nowMs: number;
}

/**
 * One limit with each candidate instead of its own number. The algorithms are those of the gateway. Candidates that
 * have admitted the same requests have the same counts, and are decided together: they form a group. With the same
 * counts, a larger number admits whatever a smaller one admits. A decision therefore splits a group into at most two:
 * the candidates that refuse, and those that admit.
 */
class LimitCandidates {
  readonly #policy: string;
  readonly #limit: Limit;
  readonly #clients: Clients;
  readonly #numbers: readonly number[];
  /** The limit by candidate; by plan for clients on a plan that gives the limit a number. */
  readonly #limits: readonly Limit[];
  readonly #planned: ReadonlyMap<string, readonly Limit[]>;
  /** By region; under "" the counts of all regions. */
  readonly #counts = new Map<string, Expiring<CandidateCounts>>();
  #requests = 0;
  readonly #refusedBy: number[];
  readonly #refusedClients: number[];
  /** The candidates that have refused a client, as bits. */
  readonly #bits = [new ClientCounts(), new ClientCounts()] as const;

  constructor({ plans = {}, ...policy }: Policy, limit: Limit, clients: Clients) {
    this.#policy = policy.name;
    this.#limit = limit;
    this.#clients = clients;
    this.#numbers = candidatesOf(limit);
    const alone = { ...policy, plans, limits: [limit] };
    const numbered = this.#numbers.map((number) => withNumbers(alone, { [limit.id]: number }));
    const numbers = numbersOf([alone]);
    this.#limits = numbered.map((one) => one.limits[0]!);
    this.#planned = new Map(
      Object.keys(plans).map((plan) => [plan, numbered.map((one) => numbers(one, { plan }).limits[0]!)]),
    );
    this.#refusedBy = this.#numbers.map(() => 0);
    this.#refusedClients = this.#numbers.map(() => 0);
  }

  take({ client, cost, plan }: PolicyTake, counted: CountedRequest): void {
    const { region, durationMs, isCharged, request, nowMs } = counted;
    this.#requests++;
    const limits = (plan === undefined ? undefined : this.#planned.get(plan)) ?? this.#limits;
    const counts = this.#countsOf(client.number, this.#limit.scope === "region" ? region() : "");
    const algorithm = algorithmOf(this.#limit);
    // The number may be a part of the counts, as the rate at which a bucket refills is.
    const isShared = !["token-bucket", "leaky-bucket"].includes(this.#limit.algorithm);
    const instant = { nowMs, atMs: 0, slot: request + 1 };
    const groups: Group[] = [];

    const add = (state: ReturnType<typeof algorithm.read>, limit: Limit, end: number) => {
      const kept: KeptValue<LimitValue> | undefined = algorithm.keptValue?.(state, limit, nowMs);
      const resetAfterMs = algorithm.resetAfterMs(state, limit, nowMs);
      counts.expiresAtMs = Math.max(counts.expiresAtMs, nowMs + resetAfterMs, nowMs + (kept?.expiryMs ?? 0));
      const isNew = resetAfterMs === 0 && !kept;
      const last = groups.at(-1);
      if (isNew && last && isAsNew(last)) last.end = end;
      else groups.push({ end, record: isNew ? undefined : algorithm.record(state), value: kept?.value });
    };

    let start = 0;
    for (const { end: groupEnd, record, value } of counts.groups) {
      while (start < groupEnd) {
        const end = isShared ? groupEnd : start + 1;
        const limit = heldFor(limits[start]!, durationMs);
        const state = algorithm.read(record, value, limit, nowMs);
        let admitting = start;
        while (admitting < end && !algorithm.admits(state, limits[admitting]!, cost, nowMs)) {
          this.#countRefused(admitting++, client.number);
        }
        if (admitting > start) add(state, limit, admitting);
        if (admitting < end)
          add(cost > 0 && isCharged ? algorithm.charge(state, limit, cost, instant) : state, limit, end);
        start = end;
      }
    }
    counts.groups = groups;
  }

  #countsOf(client: number, region: string): CandidateCounts {
    let ofRegion = this.#counts.get(region);
    if (!ofRegion) {
      ofRegion = new Expiring(({ expiresAtMs }) => expiresAtMs);
      this.#counts.set(region, ofRegion);
    }
    let counts = ofRegion.get(client);
    if (!counts) {
      counts = { groups: [{ end: this.#numbers.length, record: undefined, value: undefined }], expiresAtMs: 0 };
      ofRegion.set(client, counts);
    }
    return counts;
  }

  #countRefused(position: number, client: number): void {
    this.#refusedBy[position]!++;
    if (!this.#clients.isCounted(client)) return;
    const counts = this.#bits[position < 32 ? 0 : 1];
    const [bits, bit] = [counts.get(client), (1 << (position & 31)) >>> 0];
    if (bits & bit) return;
    counts.set(client, bits | bit);
    this.#refusedClients[position]!++;
  }

  hasCounts(client: number): boolean {
    return [...this.#counts.values()].some((counts) => counts.get(client) !== undefined);
  }

  sweep(nowMs: number): void {
    for (const counts of this.#counts.values()) counts.sweep(nowMs);
  }

  summary(share: number): Suggestion {
    const candidates = (this.#requests === 0 ? [] : this.#numbers).map((limit, position) => ({
      limit,
      requests: this.#requests,
      refused: this.#refusedBy[position]!,
      refusedClients: this.#refusedClients[position]!,
    }));
    const suggested = candidates.find(({ requests, refused }) => refused / requests < share)?.limit;
    return {
      policy: this.#policy,
      limit: this.#limit.id,
      present: toWritten(this.#limit.limit, this.#limit.unit),
      share,
      ...(suggested !== undefined && { suggested }),
      rungs: candidates,
    };
  }
}

function isAsNew({ record, value }: Group): boolean {
  return record === undefined && value === undefined;
}

/** A slot is held until the request ends: the gateway renews it until then, and releases it then. */
function heldFor(limit: Limit, durationMs: number | undefined): Limit {
  return durationMs !== undefined && isConcurrency(limit) ? { ...limit, timeoutMs: durationMs } : limit;
}
