/** The local clock and its timers, and how a decision divides its time. */

import { setIdleTimeout } from "../sleep.ts";

/** The simulation replaces it. */
export interface Timing {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** @param isIdle nobody waits for what follows: the process may end before. Default: somebody does. */
  sleep(ms: number, isIdle?: boolean): Promise<void>;
}

export const LOCAL_TIMING: Timing = {
  nowMs: () => Date.now(),
  sleep: (ms, isIdle) => new Promise((resolve) => (isIdle ? setIdleTimeout : setTimeout)(resolve, ms)),
};

/** The budget of a decision over a store without its own budget, in ms. */
const DEFAULT_BUDGET_MS = 2_000;
/** The largest part of its budget that a request waits for other requests' answers. The rest is for its own call. */
const WAITED_PART = 0.5;
/** A request leaves time for a call that takes this many times as long as the last one. */
const CALL_RESERVE = 1.5;

/** The time of a decision: numbers, because a flow keeps it while it waits. */
export interface DecisionBudget {
  /** When the request came, by the local clock, in ms since the epoch. */
  readonly cameAtMs: number;
  /** The time for the whole decision, in ms. */
  readonly budgetMs: number;
  /** The part of it in which the request may wait for others, in ms. */
  readonly waitedMs: number;
}

/** @param callMs how long the last call took, in ms. @param notes several attempts share the time of the first one. */
export function decisionBudget(
  budgetMs: number = DEFAULT_BUDGET_MS,
  callMs: number,
  nowMs: number,
  notes: { beganAtMs?: number } | undefined,
): DecisionBudget {
  const waitedMs = Math.max(0, Math.min(budgetMs * WAITED_PART, budgetMs - CALL_RESERVE * callMs));
  if (notes) notes.beganAtMs ??= nowMs;
  return { cameAtMs: notes?.beganAtMs ?? nowMs, budgetMs, waitedMs };
}

/** The time that earlier attempts of the same decision have left to a call, in ms. At least 1. */
export function restOfBudgetMs(budgetMs: number | undefined, nowMs: number, notes: { beganAtMs?: number }): number {
  return leftMs(decisionBudget(budgetMs, 0, nowMs, notes), nowMs);
}

/** How much longer the request may wait for others, in ms. 0 or less: it should call the store now. */
export function mayWaitMs({ cameAtMs, waitedMs }: DecisionBudget, nowMs: number): number {
  return cameAtMs + waitedMs - nowMs;
}

/** The time for the request's own call, in ms. At least 1. */
export function leftMs({ cameAtMs, budgetMs }: DecisionBudget, nowMs: number): number {
  return Math.max(1, Math.min(budgetMs, cameAtMs + budgetMs - nowMs));
}
