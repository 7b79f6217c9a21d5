/** How much other numbers would refuse: the present configuration at rising numbers, each limit alone. */

import { misfit, withWritten } from "../../../kernel/core/numbers.ts";
import type { Limit, Policy } from "../../../kernel/core/policy.ts";
import { toWritten } from "../../../kernel/core/units.ts";
import type { LoggedRequest } from "../log/format.ts";
import { type LogClock, LogLimiter } from "./limiter.ts";
import type { ConfigurationRun } from "./run.ts";

/** Ten round numbers for each power of ten, from a hundredth of the present number to a hundred times of it. */
const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
const REACH = 100;
/** Keys of all rungs together: up to 2 GiB. */
const MAX_KEYS = 2_000_000;

/** Rising numbers as they are written in the configuration: round ones, and the present one. */
function numbersFor(limit: Limit, present: number): number[] {
  const numbers = new Set([present]);
  for (let power = Math.floor(Math.log10(present / REACH)); power <= Math.log10(present * REACH); power++) {
    for (const round of ROUND) {
      const number = Number(`${round}e${power}`);
      const isNear = number >= present / REACH && number <= present * REACH;
      if (isNear && misfit(withWritten(limit, number)) === undefined) numbers.add(number);
    }
  }
  return [...numbers].sort((a, b) => a - b);
}

/** One limit at each of its numbers, as a policy of its own in shadow: none keeps another from being charged. */
function triedOf({ chain: _, overflow: __, ...policy }: Policy) {
  return policy.limits.map((limit) => {
    const present = toWritten(limit.limit, limit.unit);
    const rungs = numbersFor(limit, present).map((number) => {
      const alone: Policy = { ...policy, name: limit.id, mode: "shadow", limits: [withWritten(limit, number)] };
      return { limit: number, refused: 0, alone };
    });
    return { policy: policy.name, limit: limit.id, present, requests: 0, rungs };
  });
}

export class Suggesting {
  readonly #run: ConfigurationRun;
  readonly #tried: ReturnType<typeof triedOf>;
  readonly #limiters: readonly LogLimiter[];

  constructor(run: ConfigurationRun, clock: LogClock) {
    this.#run = run;
    this.#tried = [...run.policies.values()].filter(({ isOverflow }) => !isOverflow).flatMap(triedOf);
    const most = Math.max(0, ...this.#tried.map(({ rungs }) => rungs.length));
    this.#limiters = Array.from({ length: most }, (_, i) => {
      const policies = this.#tried.flatMap(({ rungs }) => rungs[i]?.alone ?? []);
      return new LogLimiter(policies, clock, Math.ceil(MAX_KEYS / most));
    });
  }

  /** Decides about the request that the configuration has just decided. */
  async decide(entry: LoggedRequest): Promise<void> {
    const asked = this.#run.takes.flatMap(({ link, ...take }) =>
      this.#tried.filter(({ policy }) => policy === take.policy.name).map((tried) => ({ tried, take })),
    );
    for (const { tried } of asked) tried.requests++;
    for (const [i, limiter] of this.#limiters.entries()) {
      const takes = asked.flatMap(({ tried: { rungs }, take }) =>
        rungs[i] ? [{ ...take, policy: rungs[i].alone }] : [],
      );
      if (takes.length === 0) continue;
      const { policies } = await limiter.take(takes, this.#run.region, entry);
      for (const { policy, became } of policies) {
        if (became === "refused") asked.find(({ tried }) => tried.limit === policy.name)!.tried.rungs[i]!.refused++;
      }
    }
  }

  /** @param share of refused requests that is too much, 0 to 1. */
  summary(share: number) {
    return this.#tried.map(({ requests, rungs, ...tried }) => {
      /** The smallest number that refuses less than that share. Undefined: none does, or there were no requests. */
      const suggested = requests > 0 ? rungs.find(({ refused }) => refused / requests < share)?.limit : undefined;
      return { ...tried, share, suggested, requests, rungs: rungs.map(({ limit, refused }) => ({ limit, refused })) };
    });
  }
}
