/**
 * Exceptions of the isolate's own code. They are bugs, and no failures of the store: nothing falls back, and no breaker
 * hears of them. A shortcut that throws is skipped, and the store decides. What an isolate notes after a reply does not
 * change the decision, whether it throws or not.
 */

/** A bug that every request meets must not become a flood of log lines. */
const REPORT_EVERY_MS = 1_000;

export interface OwnErrors {
  /** Writes an exception with its stack to the console, about one each second, and how many were left out before. */
  report(error: unknown): void;
  /** Runs code that no decision needs. undefined: it threw, and the console says so. */
  attempt<T>(work: () => T): T | undefined;
}

export function createOwnErrors(): OwnErrors {
  let lastAtMs = Number.NEGATIVE_INFINITY;
  let suppressed = 0;

  function report(error: unknown): void {
    const nowMs = Date.now();
    // A clock that has stepped back must not silence the console.
    if (Math.abs(nowMs - lastAtMs) < REPORT_EVERY_MS) {
      suppressed++;
      return;
    }
    const more = suppressed > 0 ? [`(${suppressed} more since the last line)`] : [];
    console.error(
      "headgate: a bug in headgate, please report it; the store decides without this isolate",
      error,
      ...more,
    );
    [lastAtMs, suppressed] = [nowMs, 0];
  }

  return {
    report,
    attempt(work) {
      try {
        return work();
      } catch (error) {
        report(error);
        return undefined;
      }
    },
  };
}
