/** How much other numbers would refuse: the present configuration at a ladder of numbers, each limit alone. */

import { misfit, withWritten } from "../../../core/numbers.ts";
import type { Limit, Policy } from "../../../core/policy.ts";
import { toWritten } from "../../../core/units.ts";
import type { LogEntry } from "../log/format.ts";
import { type LogClock, LogLimiter } from "./limiter.ts";
import type { ConfigurationRun, ReplayTake } from "./run.ts";

/** Ten round numbers for each power of ten. */
const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
/** From a hundredth of the present number to a hundred times of it. */
const REACH = 100;
/** Keys of all rungs together: up to 2 GiB. */
const MAX_KEYS = 2_000_000;

/** Rising numbers as they are written in the configuration: round ones, and the present one. */
function numbersFor(limit: Limit): number[] {
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

interface Rung {
  readonly limit: number;
  /** The limit with this number, as a policy of its own. In shadow, so that none keeps another from being charged. */
  readonly policy: Policy;
  refused: number;
}

/** One limit, at each of its numbers. */
interface Tried {
  readonly policy: string;
  readonly limit: Limit;
  requests: number;
  readonly rungs: readonly Rung[];
}

export class Ladder {
  readonly #run: ConfigurationRun;
  readonly #share: number;
  readonly #tried: readonly Tried[];
  readonly #limiters: readonly LogLimiter[];

  /** @param share of refused requests that is too much, 0 to 1. */
  constructor(run: ConfigurationRun, share: number, clock: LogClock) {
    this.#run = run;
    this.#share = share;
    this.#tried = [...run.policies.values()].filter(({ isOverflow }) => !isOverflow).flatMap(triedOf);
    const most = Math.max(0, ...this.#tried.map(({ rungs }) => rungs.length));
    const rungs = Array.from({ length: most }, (_, i) => this.#tried.flatMap((one) => one.rungs[i] ?? []));
    const maxKeys = Math.ceil(MAX_KEYS / Math.max(1, most));
    const policies = rungs.map((all) => all.map(({ policy }) => policy));
    this.#limiters = policies.map((all) => new LogLimiter(all, clock, maxKeys));
  }

  /** Decides about the request that the configuration has just decided. */
  async decide(entry: LogEntry): Promise<void> {
    const { takes, region } = this.#run;
    const asked: (readonly [Tried, ReplayTake])[] = [];
    for (const one of this.#tried) {
      const take = takes.find(({ policy }) => policy.name === one.policy);
      if (!take) continue;
      one.requests++;
      asked.push([one, take]);
    }
    for (const [i, limiter] of this.#limiters.entries()) {
      const tried = asked.filter(([{ rungs }]) => i < rungs.length);
      const rungTakes = tried.map(([{ rungs }, { link: _, ...take }]) => ({ ...take, policy: rungs[i]!.policy }));
      if (rungTakes.length === 0) continue;
      const { shadow } = await limiter.take(rungTakes, region, entry);
      for (const { policy, admitted } of shadow) {
        if (!admitted) tried.find(([{ limit }]) => limit.id === policy.name)![0].rungs[i]!.refused++;
      }
    }
  }

  summary() {
    const share = this.#share;
    return this.#tried.map(({ policy, limit, requests, rungs }) => ({
      policy,
      limit: limit.id,
      /** The number in the configuration, as it is written there. */
      present: toWritten(limit.limit, limit.unit),
      share,
      /** The smallest number that refuses less than that share. Absent: none does, or there were no requests. */
      suggested: requests > 0 ? rungs.find(({ refused }) => refused / requests < share)?.limit : undefined,
      requests,
      rungs: rungs.map(({ limit, refused }) => ({ limit, refused })),
    }));
  }

  /** As for `LogLimiter`. */
  get forgotten(): number {
    return this.#limiters.reduce((sum, { forgotten }) => sum + forgotten, 0);
  }
}

function triedOf(policy: Policy): Tried[] {
  const { chain: _, overflow: __, ...alone } = policy;
  return policy.limits.map((limit): Tried => {
    const rungs = numbersFor(limit).map((number): Rung => {
      const limits = [withWritten(limit, number)];
      const tried: Policy = { ...alone, name: limit.id, mode: "shadow", limits };
      return { limit: number, policy: tried, refused: 0 };
    });
    return { policy: policy.name, limit, requests: 0, rungs };
  });
}
