/**
 * Exceptions of the isolate's own code. They are bugs, and no failures of the store: nothing falls back, and no breaker
 * hears of them. A shortcut that throws is skipped, and the store decides. What an isolate notes after a reply does not
 * change the decision, whether it throws or not.
 */

import { createThrown } from "../lines.ts";

export interface OwnErrors {
  /** Writes an exception with its stack to the console. */
  report(error: unknown): void;
  /** Runs code that no decision needs. undefined: it threw, and the console says so. */
  attempt<T>(work: () => T): T | undefined;
}

export function createOwnErrors(): OwnErrors {
  // Every request may meet the same bug.
  const report = createThrown("a bug in headgate, please report it; the store decides without this isolate", 1);
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
