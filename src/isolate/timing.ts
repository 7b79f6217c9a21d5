/** The local clock and its timers, and how a decision divides its time. */

/** The simulation replaces it. */
export interface Timing {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

export const LOCAL_TIMING: Timing = {
  nowMs: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** The budget of a decision over a store without its own budget, in ms. */
const DEFAULT_BUDGET_MS = 2_000;
/** The largest part of its budget that a request waits for other requests' answers. The rest is for its own call. */
const WAITED_PART = 0.5;
/** A request leaves time for a call that takes this many times as long as the last one. */
const CALL_RESERVE = 1.5;

/** How a decision divides its time between waiting for other requests' answers and its own call. */
export interface DecisionBudget {
  /** How much longer the request may wait for others, in ms. 0 or less: it should call the store now. */
  waitMs(nowMs: number): number;
  /** The time for its own call, in ms. At least 1. */
  leftMs(nowMs: number): number;
}

/**
 * @param budgetMs of the whole decision, in ms. @param callMs how long the last call took, in ms.
 * @param cameAtMs when the request came, by the local clock, in ms since the epoch.
 */
export function decisionBudget(budgetMs: number = DEFAULT_BUDGET_MS, callMs: number, cameAtMs: number): DecisionBudget {
  const waitedMs = Math.max(0, Math.min(budgetMs * WAITED_PART, budgetMs - CALL_RESERVE * callMs));
  return {
    waitMs: (nowMs) => cameAtMs + waitedMs - nowMs,
    leftMs: (nowMs) => Math.max(1, Math.min(budgetMs, cameAtMs + budgetMs - nowMs)),
  };
}
