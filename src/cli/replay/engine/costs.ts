/**
 * What each consistency would cost over a log: the calls that isolates make, counted by running the isolate's own code
 * over the requests, one isolate for each region of the log.
 */

import { DEFAULT_SYNC_MS, possibleConsistencies } from "../../../config/policy-fields.ts";
import type { Policy } from "../../../core/policy.ts";
import { Flag } from "../../../core/take.ts";
import { createIsolate, type Isolate } from "../../../isolate/isolate.ts";
import { type AppliedPolicy, keysOf } from "../../../limiter/decide.ts";
import { memoryStore } from "../../../store/memory.ts";
import type { Store } from "../../../store/store.ts";
import { dollarsOf } from "../../prices.ts";
import { LogClock } from "./log-clock.ts";
import type { PolicyTake } from "./policy-run.ts";
import type { Costs, PolicyCosts } from "./summary.ts";

/** Clients that a store of the estimate keeps. With more active ones at once, the estimate has more admissions. */
const MAX_KEYS = 200_000;

/** Work goes on after the answer. */
const BACKGROUND = { waitUntil() {} };

type Consistency = Policy["consistency"];

/** The isolates of one policy under one consistency, and the store that they call. */
class Trial {
  readonly consistency: Consistency;
  calls = 0;
  refused = 0;
  readonly #memory = memoryStore({ maxKeys: MAX_KEYS });
  /** By region. */
  readonly #isolates = new Map<string, Isolate>();
  readonly #clock: LogClock;

  constructor(consistency: Consistency, clock: LogClock) {
    this.consistency = consistency;
    this.#clock = clock;
  }

  /** @param takes a policy, and the overflows that are asked with it in one call. */
  take(policy: Policy, takes: readonly PolicyTake[], region: string): void {
    const isolate = this.#isolates.get(region) ?? this.#newIsolate();
    this.#isolates.set(region, isolate);
    const applied = takes.map(({ policy: own, link, cost, client }): AppliedPolicy => {
      const one = { policy: link ? own : policy, kind: client.kind, partition: String(client.number), cost };
      return link === undefined ? one : { ...one, link };
    });
    const keys = keysOf(applied, () => region).map(({ request }) => request);
    // A request may wait for others, and is answered later.
    isolate.replies.take({ keys, flag: Flag.take }, BACKGROUND, this.consistency).then(({ reply }) => {
      if (!reply.allowed) this.refused++;
    });
  }

  #newIsolate(): Isolate {
    const store: Store = {
      ...this.#memory,
      take: (request) => {
        this.calls++;
        return this.#memory.take(request, Math.floor(this.#clock.nowMs()));
      },
    };
    const timing = { nowMs: () => Math.floor(this.#clock.nowMs()), sleep: (ms: number) => this.#clock.sleep(ms) };
    return createIsolate(store, timing, { random: () => 0.5 });
  }
}

/** All trials of one policy. */
class PolicyTrials {
  requests = 0;
  readonly #policy: Policy;
  readonly #trials: readonly Trial[];

  constructor(policy: Policy, clock: LogClock) {
    this.#policy = policy;
    this.#trials = possibleConsistencies(policy).map((consistency) => new Trial(consistency, clock));
  }

  take(takes: readonly PolicyTake[], region: string): void {
    this.requests++;
    const { syncMs = DEFAULT_SYNC_MS, ...policy } = this.#policy;
    for (const trial of this.#trials) {
      const tried = { ...policy, consistency: trial.consistency, ...(trial.consistency === "shared" && { syncMs }) };
      trial.take(tried, takes, region);
    }
  }

  summary(): PolicyCosts {
    const { requests } = this;
    const settings = this.#trials.map(({ consistency, calls, refused }): Costs => {
      const dollars = dollarsOf(calls);
      return { consistency, calls, refused, dollars, perMillion: requests > 0 ? (dollars / requests) * 1_000_000 : 0 };
    });
    return { policy: this.#policy.name, present: this.#policy.consistency, requests, settings };
  }
}

/**
 * Instants between whole seconds: many logs show no more. Requests that share a second are spread over it, as many as
 * the second before had.
 */
class Spread {
  #secondMs = 0;
  #requests = 0;
  #before = 1;

  at(atMs: number): number {
    if (atMs % 1_000 !== 0) return atMs;
    if (atMs !== this.#secondMs) {
      this.#before = Math.max(1, this.#requests);
      this.#secondMs = atMs;
      this.#requests = 0;
    }
    return atMs + Math.min(999, Math.floor((this.#requests++ * 1_000) / this.#before));
  }
}

/** Counts calls for one configuration. Each policy, with its overflows, is counted as if it was the only one. */
export class CostsRun {
  readonly #trials = new Map<string, PolicyTrials>();
  readonly #spread = new Spread();
  readonly #clock = new LogClock();

  /** @param takes of one request. */
  async take(takes: readonly PolicyTake[], region: string, loggedMs: number): Promise<void> {
    await this.#clock.runUntil(this.#spread.at(loggedMs));
    for (const [i, take] of takes.entries()) {
      if (take.link) continue;
      const { policy } = take.run;
      const trials = this.#trials.get(policy.name) ?? new PolicyTrials(policy, this.#clock);
      this.#trials.set(policy.name, trials);
      const end = takes.findIndex(({ link }, other) => other > i && !link);
      if (!take.isBlocked) trials.take(takes.slice(i, end < 0 ? undefined : end), region);
    }
  }

  /** What has begun ends first. */
  async summary(): Promise<PolicyCosts[]> {
    await this.#clock.runUntil(this.#clock.nowMs());
    return [...this.#trials.values()].map((one) => one.summary());
  }
}
