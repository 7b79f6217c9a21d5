/**
 * A time budget that counts only the time in which this isolate can read an answer. A timer that fires late shows that
 * the isolate was busy: the answer may have arrived and wait to be read.
 */

import { setIdleTimeout } from "./sleep.ts";

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
 * @param set sets the timer. Default: one that keeps the process alive, because a caller waits.
 * @returns a function that ends the budget early; it may be called at any time.
 */
export function spendBudget(
  budgetMs: number,
  onSpent: () => void,
  set: typeof setIdleTimeout = setTimeout,
): () => void {
  let timer: ReturnType<typeof setTimeout>;

  function spend(partMs: number, extensions: number): void {
    const dueAtMs = Date.now() + partMs;
    timer = set(() => {
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

/** How long a late answer is still waited for after two budgets, only to learn from it, ms. */
const LATE_ANSWER_MS = 2_000;

/** What is known about a call whose budget is spent. */
export interface LateAnswer<T> {
  /** The answer if it still arrives; `undefined` if it does not. Never rejects. */
  readonly answer: Promise<T | undefined>;
  /**
   * Whether the service has failed: no answer within a second budget, or, if this isolate is too busy to read answers,
   * within 2 s more. Never rejects.
   */
  readonly hasFailed: Promise<boolean>;
}

/** A call had no answer within its budget. */
export class OutOfTime<T> extends Error {
  readonly late: LateAnswer<T>;

  constructor(late: LateAnswer<T>) {
    super("no answer within the time budget");
    this.name = "OutOfTime";
    this.late = late;
  }
}

interface BudgetOptions {
  /** Milliseconds for this call. */
  readonly budgetMs: number;
  /** Milliseconds after which a late answer shows a service that has failed. */
  readonly timeoutMs: number;
  /** Ends the call: its answer is not waited for any longer. */
  abort?(): void;
  /** As for `spendBudget`. */
  readonly set?: typeof setIdleTimeout | undefined;
}

/**
 * The answer of a call, if it comes within its budget. After that the call goes on for a second budget and 2 s: a late
 * answer still tells what was charged.
 *
 * @throws {OutOfTime} if the budget is spent, or what the call itself throws.
 */
export function withinBudget<T>(call: Promise<T>, { budgetMs, timeoutMs, abort, set }: BudgetOptions): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const outOfTime = () => {
      let giveUp = () => {};
      const answer = new Promise<T | undefined>((tell) => {
        giveUp = () => tell(undefined);
        call.then(tell, giveUp);
      });
      const hasFailed = new Promise<boolean>((decide) => {
        call.then(
          () => decide(false),
          () => decide(true),
        );
        const endLate = () => {
          decide(true);
          // Without `abort` the call may never end.
          giveUp();
          abort?.();
        };
        const waitLonger = () => {
          if (!isIsolateBusy()) decide(true);
          stop = spendBudget(LATE_ANSWER_MS, endLate, setIdleTimeout);
        };
        stop = spendBudget(timeoutMs, waitLonger, setIdleTimeout);
      });
      reject(new OutOfTime({ answer, hasFailed }));
    };
    let stop = spendBudget(budgetMs, outOfTime, set);
    const stopped =
      <V>(settle: (outcome: V) => void) =>
      (outcome: V) => {
        stop();
        settle(outcome);
      };
    call.then(stopped(resolve), stopped(reject));
  });
}
