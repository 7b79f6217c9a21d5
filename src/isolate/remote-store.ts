/** Any store that is far away, with everything that an isolate adds to a store. */

import { checkOptions } from "../check-options.ts";
import { type LateReply, type Store, StoreError } from "../store/store.ts";
import { OutOfTime, withinBudget } from "../time-budget.ts";
import { type BreakerOptions, reportBreaker, withBreaker } from "./breaker.ts";
import { withIsolate } from "./isolate.ts";

/** Options of `remoteStore`. */
export interface RemoteStoreOptions {
  /** Time budget of one call in milliseconds. Default 250. */
  readonly timeoutMs?: number;
  /** Called when this isolate stops asking the store, and when it asks again. Default: a line on the console. */
  readonly onBreakerChange?: BreakerOptions["onBreakerChange"];
}

const OPTION_TYPES: Readonly<Record<keyof RemoteStoreOptions, string>> = {
  timeoutMs: "number",
  onBreakerChange: "function",
};

const DEFAULT_TIMEOUT_MS = 250;

/**
 * Gives a store of your own what `redisStore` has: a time budget for each call, a breaker, refusals from memory where
 * they are certain, leases, counts of the isolate's own while the store has no answer, and repayment afterwards. A store
 * in the isolate's own memory needs none of it.
 *
 * @throws {TypeError} if `timeoutMs` is not a positive integer; for an unknown option, or an option of a wrong type.
 */
export function remoteStore(store: Store, options: RemoteStoreOptions = {}): Store {
  checkOptions("remoteStore", options, OPTION_TYPES);
  const { timeoutMs = DEFAULT_TIMEOUT_MS, onBreakerChange = reportBreaker() } = options;
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1) {
    throw new TypeError(`remoteStore: timeoutMs must be a positive integer, found ${String(timeoutMs)}`);
  }
  return withIsolate(withBreaker(withTimeBudget(store, timeoutMs), { timeoutMs, onBreakerChange }));
}

/** A store whose calls end within `timeoutMs`, or within the budget of the decision. */
function withTimeBudget(store: Store, timeoutMs: number): Store {
  async function within<T>(call: Promise<T>, budgetMs = timeoutMs): Promise<T> {
    try {
      return await withinBudget(call, { budgetMs, timeoutMs });
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error;
      throw new StoreError("TIMEOUT", undefined, error.late as LateReply);
    }
  }

  // Named one by one: the store may be an instance of a class, whose methods a spread would leave behind.
  return {
    kind: store.kind,
    keySecret: store.keySecret,
    timeoutMs,
    take: (request, nowMs, budgetMs) => within(store.take(request, nowMs, budgetMs), budgetMs),
    reset: (keys) => within(store.reset(keys)),
    ping: () => within(store.ping()),
  };
}
