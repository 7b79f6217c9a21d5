/**
 * A time budget that counts only time in which this isolate could have read an answer. A timer that fires late says that the
 * isolate was busy: the answer may have arrived meanwhile and wait to be read.
 */

/** A timer this late did not fire when it was due: the isolate was busy. */
const LATE_MS = 10;
/** How long a busy isolate may read on before the budget is looked at again, and how often. */
const EXTENSION_MS = 50;
const MAX_EXTENSIONS = 40;
/** An isolate that was busy is taken to be busy for so long: not every timer of a busy isolate is late. */
const BUSY_MS = 1_000;

/** By the local clock, ms since the epoch: when a timer of this isolate was late for the last time. */
let lastBusyAtMs = Number.NEGATIVE_INFINITY;

/** Whether this isolate gets too little time to read what arrives. */
export function isIsolateBusy(): boolean {
  return Math.abs(Date.now() - lastBusyAtMs) < BUSY_MS;
}

/**
 * Starts to spend a budget.
 *
 * @param budgetMs milliseconds, more than 0.
 * @param onSpent called once when nothing of it is left.
 * @returns ends it early; may be called at any time.
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
