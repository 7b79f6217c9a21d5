/** Judges a limiter by its answers. */

import { type Admission, possibleUnits, worstWindow } from "../support/stats.ts";

/** The clocks of Redis and of the isolates count whole ms. */
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
  /** The part of the requests that was refused although the true window had room. */
  readonly unused: number;
  /**
   * The same for the definition of the weighted counter, with aligned windows: requests that the algorithm would admit
   * and a cache refuses.
   */
  readonly wrong: number;
  readonly admitted: number;
  readonly failed: number;
  readonly overcharged?: number;
}

export function judge(answers: readonly Answered[], limit: number, windowMs: number): Result {
  const admitted = answers.filter(({ allowed }) => allowed).map((one): Admission => ({ ...one, units: one.cost }));
  const refused = answers.filter(({ allowed, failed }) => !allowed && failed === undefined);
  // Whether there was room at any moment between sending and answer.
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
