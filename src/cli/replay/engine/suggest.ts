/** How much other numbers would refuse: every limit alone, with every number of its ladder, in the same pass. */

import { isConcurrency } from "../../../core/concurrency.ts";
import type { Limit, Policy } from "../../../core/policy.ts";
import { toWritten } from "../../../core/units.ts";
import { numbersOf, withNumbers } from "../../../limiter/numbers.ts";
import type { LogEntry } from "../log/entry.ts";
import { Tally } from "./clients.ts";
import type { ConfigurationRun } from "./configuration-run.ts";
import { InFlight, renewedEveryMs } from "./in-flight.ts";
import { ladderOf } from "./ladder.ts";
import type { PolicyRun, Take } from "./policy-run.ts";
import { type RungCounts, type RungRequest, rungCounts } from "./rung-counts.ts";
import type { Suggestion } from "./summary.ts";

/** The slot of a request in flight. */
interface Held {
  readonly counts: RungCounts;
  readonly request: RungRequest;
  readonly endMs: number;
  readonly renewEveryMs: number;
}

export class Suggesting {
  readonly #run: ConfigurationRun;
  readonly #share: number;
  readonly #ladders: ReadonlyMap<PolicyRun, readonly LimitLadder[]>;

  /** @param share of refused requests that is too much, 0 to 1. */
  constructor(run: ConfigurationRun, share: number) {
    this.#run = run;
    this.#share = share;
    this.#ladders = new Map(
      run.policies.map((policyRun) => {
        const policy = run.configured(policyRun);
        return [policyRun, policy.limits.map((limit) => new LimitLadder(policyRun, policy, limit))];
      }),
    );
  }

  /** Decides about a request after the configuration has. */
  decide(entry: LogEntry, request: number, nowMs: number): void {
    for (const take of this.#run.takes) {
      for (const ladder of this.#ladders.get(take.run)!) {
        ladder.take(take, this.#run.region, entry.durationMs, request + 1, nowMs);
      }
    }
  }

  sweep(nowMs: number): void {
    for (const ladders of this.#ladders.values()) for (const ladder of ladders) ladder.sweep(nowMs);
  }

  summary(): Suggestion[] {
    return this.#run.replayed.flatMap((run) => this.#ladders.get(run)!.map((ladder) => ladder.summary(this.#share)));
  }

  notes(): string[] {
    if (!this.#run.hasLive) return [];
    return ["Suggestions are for the numbers of the configuration: what the live document changes is left out"];
  }
}

class LimitLadder {
  readonly #run: PolicyRun;
  readonly #limit: Limit;
  readonly #rungs: readonly number[];
  /** The limit by rung; by plan for clients on a plan that gives the limit a number. */
  readonly #limits: readonly Limit[];
  readonly #planned: ReadonlyMap<string, readonly Limit[]>;
  readonly #counts = new Map<string, RungCounts>();
  readonly #inFlight = new InFlight<Held>();
  readonly #refused: Uint8Array;
  #requests = 0;
  readonly #refusedBy: number[];
  readonly #refusedClients: number[];
  /** The rungs that have refused a client, as bits. */
  readonly #bits = [new Tally(), new Tally()] as const;

  constructor(run: PolicyRun, { plans = {}, ...policy }: Policy, limit: Limit) {
    this.#run = run;
    this.#limit = limit;
    this.#rungs = ladderOf(limit);
    const alone = { ...policy, plans, limits: [limit] };
    const numbered = this.#rungs.map((rung) => withNumbers(alone, { [limit.id]: rung }));
    const numbers = numbersOf([alone]);
    this.#limits = numbered.map((one) => one.limits[0]!);
    this.#planned = new Map(
      Object.keys(plans).map((plan) => [plan, numbered.map((one) => numbers(one, { plan }).limits[0]!)]),
    );
    this.#refused = new Uint8Array(this.#rungs.length);
    this.#refusedBy = this.#rungs.map(() => 0);
    this.#refusedClients = this.#rungs.map(() => 0);
  }

  take({ run, cost, plan }: Take, region: () => string, durationMs: number | undefined, slot: number, nowMs: number) {
    this.#advance(nowMs);
    this.#requests++;
    const { client } = run.last;
    const counts = this.#countsOf(this.#limit.scope === "region" ? region() : "");
    const limits = (plan === undefined ? undefined : this.#planned.get(plan)) ?? this.#limits;
    const request = { client, cost, nowMs, slot, limits };
    const refused = counts.take(request, this.#refused);
    if (refused > 0) this.#countRefused(client);
    if (refused === this.#rungs.length || cost === 0 || durationMs === undefined || !isConcurrency(this.#limit)) return;
    if (this.#inFlight.isFull) this.#release(this.#inFlight.next(Number.POSITIVE_INFINITY)!.what, nowMs);
    const [endMs, renewEveryMs] = [nowMs + durationMs, renewedEveryMs(this.#limit.timeoutMs)];
    this.#inFlight.add(Math.min(endMs, nowMs + renewEveryMs), { counts, request, endMs, renewEveryMs });
  }

  #countsOf(region: string): RungCounts {
    let counts = this.#counts.get(region);
    if (!counts) {
      counts = rungCounts(this.#limit, this.#rungs.length);
      // A rung may hold a client's counts for longer than the run does: the client must keep its number.
      this.#run.others.push(counts);
      this.#counts.set(region, counts);
    }
    return counts;
  }

  #countRefused(client: number): void {
    const isCounted = this.#run.clients.isCounted(client);
    for (let rung = 0; rung < this.#refused.length; rung++) {
      if (this.#refused[rung] === 0) continue;
      this.#refused[rung] = 0;
      this.#refusedBy[rung]!++;
      if (!isCounted) continue;
      const tally = this.#bits[rung < 32 ? 0 : 1];
      const [bits, bit] = [tally.get(client), (1 << (rung & 31)) >>> 0];
      if (bits & bit) continue;
      tally.set(client, bits | bit);
      this.#refusedClients[rung]!++;
    }
  }

  #advance(nowMs: number): void {
    for (;;) {
      const event = this.#inFlight.next(nowMs);
      if (!event) return;
      const { atMs, what } = event;
      if (atMs >= what.endMs) this.#release(what, atMs);
      else {
        what.counts.settle({ ...what.request, nowMs: atMs }, "charge");
        this.#inFlight.add(Math.min(what.endMs, atMs + what.renewEveryMs), what);
      }
    }
  }

  #release({ counts, request }: Held, atMs: number): void {
    counts.settle({ ...request, nowMs: atMs }, "giveBack");
  }

  sweep(nowMs: number): void {
    for (const counts of this.#counts.values()) counts.sweep(nowMs);
  }

  summary(share: number): Suggestion {
    const found = this.#requests === 0 ? [] : this.#rungs;
    const rungs = found.map((limit, rung) => ({
      limit,
      requests: this.#requests,
      refused: this.#refusedBy[rung]!,
      refusedClients: this.#refusedClients[rung]!,
    }));
    const suggested = rungs.find(({ requests, refused }) => refused / requests < share)?.limit;
    return {
      policy: this.#run.policy.name,
      limit: this.#limit.id,
      present: toWritten(this.#limit.limit, this.#limit.unit),
      share,
      ...(suggested !== undefined && { suggested }),
      rungs,
    };
  }
}
