/** The local clock and its timers, and how a decision divides its time. */

/** A simulator replaces it. */
export interface Timing {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

export const LOCAL_TIMING: Timing = {
  nowMs: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** The budget of a decision over a store that declares none, in milliseconds. */
const DEFAULT_BUDGET_MS = 2_000;
/**
 * The largest part of its budget that a request waits for the answers to others: time must be left for a call of its
 * own.
 */
const WAITED_PART = 0.5;
/** Time is left for a call that takes this many times as long as the last one. */
const CALL_RESERVE = 1.5;

/** How a decision divides its time between waiting for the answers to other requests and a call of its own. */
export interface DecisionBudget {
  /** How long the request may still wait for others, in milliseconds; 0 or less: it should call the store now. */
  waitMs(nowMs: number): number;
  /** What is left for its own call, in milliseconds; at least 1. */
  leftMs(nowMs: number): number;
}

/**
 * @param budgetMs of the whole decision, in milliseconds. @param callMs how long the last call took.
 * @param cameAtMs when the request came, by the local clock, ms since the epoch.
 */
export function decisionBudget(budgetMs: number = DEFAULT_BUDGET_MS, callMs: number, cameAtMs: number): DecisionBudget {
  const waitedMs = Math.max(0, Math.min(budgetMs * WAITED_PART, budgetMs - CALL_RESERVE * callMs));
  return {
    waitMs: (nowMs) => cameAtMs + waitedMs - nowMs,
    leftMs: (nowMs) => Math.max(1, Math.min(budgetMs, cameAtMs + budgetMs - nowMs)),
  };
}
