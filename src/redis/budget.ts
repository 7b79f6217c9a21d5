/**
 * A time budget that counts only the time in which this isolate can read an answer. A timer that fires late shows that
 * the isolate was busy: the answer may have arrived and wait to be read.
 */

/** A timer that fires this late, or later, shows a busy isolate. */
const LATE_MS = 10;
/** A busy isolate gets this much more time to read, at most 40 times. */
const EXTENSION_MS = 50;
const MAX_EXTENSIONS = 40;
/** After a late timer the isolate counts as busy for this long: in a busy isolate some timers are still on time. */
const BUSY_MS = 1_000;

/** When a timer of this isolate was last late: local clock, ms since the epoch. */
let lastBusyAtMs = Number.NEGATIVE_INFINITY;

/** Whether this isolate gets too little CPU time to read what arrives. */
export function isIsolateBusy(): boolean {
  return Math.abs(Date.now() - lastBusyAtMs) < BUSY_MS;
}

/**
 * Starts to spend a budget.
 *
 * @param budgetMs milliseconds, more than 0.
 * @param onSpent called once when the budget is spent.
 * @returns a function that ends the budget early; it may be called at any time.
 */
export function spendBudget(budgetMs: number, onSpent: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;

  function spend(partMs: number, extensions: number): void {
    const dueAtMs = Date.now() + partMs;
    timer = setTimeout(() => {
      const nowMs = Date.now();
      const isLate = nowMs - dueAtMs >= LATE_MS;
      if (isLate) lastBusyAtMs = nowMs;
      if (isLate && extensions > 0) spend(EXTENSION_MS, extensions - 1);
      else onSpent();
    }, partMs);
  }

  spend(budgetMs, MAX_EXTENSIONS);
  return () => clearTimeout(timer);
}
