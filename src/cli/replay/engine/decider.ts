/** The decision about a request: its policies take from their counts, and each counts what became of it. */

import { isConcurrency } from "../../../core/concurrency.ts";
import { ENFORCED, Flag, type KeyRequest, type TakeReply } from "../../../core/take.ts";
import type { Applied, AppliedPolicies } from "./applied-policies.ts";
import { type Keeper, keyName, type Place } from "./counts.ts";
import { numberedOf, type PolicyRun, type Scope, type Take } from "./policy-run.ts";
import type { Slots } from "./slots.ts";

/** The request of a log that is decided. */
export interface Asked {
  readonly flag: Flag;
  /** Undefined: the log does not tell it. */
  readonly durationMs: number | undefined;
  /** Its number. */
  readonly request: number;
  /** Of the time axis. */
  readonly step: number;
}

/** What a key of a decision is for. */
interface Key {
  readonly applied: Applied;
  readonly scope: Scope;
}

export class Decider {
  readonly #applied: AppliedPolicies;
  readonly #keeper: Keeper;
  readonly #slots: Slots;
  readonly #region: () => string;

  /** @param slots held over the same keeper. @param region of the last request. */
  constructor(applied: AppliedPolicies, keeper: Keeper, slots: Slots, region: () => string) {
    this.#applied = applied;
    this.#keeper = keeper;
    this.#slots = slots;
    this.#region = region;
  }

  /** @param nowMs the log's clock. @returns whether the request is admitted. */
  decide(takes: readonly Take[], asked: Asked, nowMs: number): boolean {
    const { applied, blockedBy } = this.#applied.of(takes, nowMs);
    if (!blockedBy) return this.#decideApplied(applied, asked, nowMs);
    for (const { run, cost } of applied) {
      run.last.isBlocked = blockedBy.includes(run.policy.name);
      end(run, cost, run.last.isBlocked, asked.step);
    }
    return false;
  }

  #decideApplied(all: readonly Applied[], asked: Asked, nowMs: number): boolean {
    const { flag, durationMs, request, step } = asked;
    const [keys, requests, places]: [Key[], KeyRequest[], Place[]] = [[], [], []];
    let shadowPolicies = 0;
    let holdsSlots = false;
    for (const applied of all) {
      const { run, policy, cost } = applied;
      const group = policy.mode === "shadow" ? ++shadowPolicies : ENFORCED;
      for (const scope of numberedOf(policy).scopes) {
        requests.push({ key: keyName(keys.length), group, cost, limits: scope.limits });
        places.push({ counts: run.countsOf(scope, scope.isRegional ? this.#region() : ""), client: run.last.client });
        keys.push({ applied, scope });
        holdsSlots ||= cost > 0 && scope.limits.some(isConcurrency);
      }
    }
    if (keys.length === 0) return true;
    const take = { keys: requests, flag, slot: holdsSlots ? request + 1 : 0 };
    const reply = this.#keeper.take(places, take, nowMs);
    if (holdsSlots && reply.allowed && flag === Flag.take) {
      this.#slots.hold(places, take, reply, durationMs, nowMs);
    }
    count(all, keys, reply, nowMs, step);
    return reply.allowed;
  }
}

/** Counts the replies for each policy and limit. */
function count(all: readonly Applied[], keys: readonly Key[], reply: TakeReply, nowMs: number, step: number): void {
  let k = 0;
  for (const applied of all) {
    const { run, policy, cost } = applied;
    const { quotas } = numberedOf(policy);
    let refused = false;
    for (; keys[k]?.applied === applied; k++) {
      const { limits, positions } = keys[k]!.scope;
      const replies = reply.keys[k]!;
      for (let l = 0; l < limits.length; l++) {
        const position = positions[l]!;
        refused ||= replies[l]!.refused;
        run.countLimit(limits[l]!, position, quotas[position]!, replies[l]!, nowMs);
      }
    }
    end(run, cost, refused, step);
  }
}

function end(run: PolicyRun, cost: number, refused: boolean, step: number): void {
  run.last.refused = refused;
  run.count(cost, step);
}
