/** What the answers of a limiter say of it. */

import { type Admission, possibleUnits, worstWindow } from "../support/stats.ts";

/** Clocks of Redis and of the isolates tick in ms. */
const TICK_MS = 2;

export interface Answered {
  readonly cost: number;
  readonly sentAtMs: number;
  readonly doneAtMs: number;
  readonly allowed: boolean;
  readonly failed?: string;
}

export interface Result {
  readonly worst: number;
  /** Part of the requests that were refused although the true window had room. */
  readonly unused: number;
  /**
   * The same by the definition of the weighted counter, over aligned windows: what a cache refuses that the algorithm
   * would admit.
   */
  readonly wrong: number;
  readonly admitted: number;
  readonly failed: number;
  readonly overcharged?: number;
}

export function judge(answers: readonly Answered[], limit: number, windowMs: number): Result {
  const admitted = answers.filter(({ allowed }) => allowed).map((one): Admission => ({ ...one, units: one.cost }));
  const refused = answers.filter(({ allowed, failed }) => !allowed && failed === undefined);
  // Room whenever, between sending and answer, it was decided.
  const hadRoom = ({ sentAtMs, doneAtMs, cost }: Answered) =>
    possibleUnits(admitted, sentAtMs - windowMs - TICK_MS, doneAtMs) + cost <= limit;
  const counterHadRoom = ({ sentAtMs, doneAtMs, cost }: Answered) => {
    const startMs = Math.floor(sentAtMs / windowMs) * windowMs;
    if (doneAtMs > startMs + windowMs - TICK_MS || sentAtMs < startMs + TICK_MS) return false;
    const previous = possibleUnits(admitted, startMs - windowMs - TICK_MS, startMs + TICK_MS);
    const left = 1 - (sentAtMs - TICK_MS - startMs) / windowMs;
    return possibleUnits(admitted, startMs - TICK_MS, doneAtMs) + previous * left + cost <= limit;
  };
  return {
    worst: worstWindow(admitted, windowMs - TICK_MS) / limit,
    unused: refused.filter(hadRoom).length / answers.length,
    wrong: refused.filter(counterHadRoom).length / answers.length,
    admitted: admitted.reduce((sum, { units }) => sum + units, 0),
    failed: answers.filter(({ failed }) => failed !== undefined).length,
  };
}
