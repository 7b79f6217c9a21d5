/** The local clock and its timers, which a simulator replaces. */

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
/** A request waits for the answers to others for this part of its budget at most, so that it can still ask for itself. */
const WAITED_PART = 0.5;
/** Its own ask may take this many times as long as the last one did. */
const ASK_RESERVE = 1.5;

/** How a decision divides its time between waiting for the answers to other requests and asking for itself. */
export interface DecisionBudget {
  /** How long the request may still wait for others, in milliseconds; 0 or less: it should ask now. */
  waitMs(nowMs: number): number;
  /** What is left for its own ask, in milliseconds; at least 1. */
  leftMs(nowMs: number): number;
}

/**
 * @param budgetMs of the whole decision, in milliseconds. @param askMs how long the last ask took.
 * @param cameAtMs when the request came, by the local clock, ms since the epoch.
 */
export function decisionBudget(budgetMs: number = DEFAULT_BUDGET_MS, askMs: number, cameAtMs: number): DecisionBudget {
  const waitedMs = Math.max(0, Math.min(budgetMs * WAITED_PART, budgetMs - ASK_RESERVE * askMs));
  return {
    waitMs: (nowMs) => cameAtMs + waitedMs - nowMs,
    leftMs: (nowMs) => Math.max(1, Math.min(budgetMs, cameAtMs + budgetMs - nowMs)),
  };
}
