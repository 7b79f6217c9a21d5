/** Any store that is far away, with everything that an isolate adds to a store. */

import { checkOptions } from "../kernel/check-options.ts";
import { type BreakerOptions, reportBreaker, withBreaker } from "../kernel/place/breaker.ts";
import { withIsolate } from "../kernel/place/isolate.ts";
import { setIdleTimeout } from "../kernel/sleep.ts";
import { failureOf } from "../kernel/store/failure.ts";
import { DEFAULT_TIMEOUT_MS, type LateReply, type Store, StoreError } from "../kernel/store/store.ts";
import { OutOfTime, withinBudget } from "../kernel/time-budget.ts";

/** Options of `remoteStore`. */
export interface RemoteStoreOptions {
  /** Time budget of one call in milliseconds, connection included. Default 250. */
  readonly timeoutMs?: number;
  /** Called when this instance stops asking the store, and when it asks again. Default: a line on the console. */
  readonly onBreakerChange?: BreakerOptions["onBreakerChange"];
}

export const REMOTE_STORE_TYPES: Readonly<Record<keyof RemoteStoreOptions, string>> = {
  timeoutMs: "number",
  onBreakerChange: "function",
};

/** Kinds that a store cannot have: decisions use these words for what an isolate answers by itself. */
const RESERVED_KINDS = ["", "cache", "lease", "shared", "fallback", "live"];

/**
 * Gives a store of your own what `redisStore` has: a time budget for each call, a breaker, refusals from memory where
 * they are certain, leases, counts of the instance's own while the store has no answer, and repayment afterwards. A
 * store in the instance's own memory needs none of it.
 *
 * An error of the store that is no `StoreError` is written to the console, and counts as a failure like the others:
 * the take may have run.
 *
 * @throws {TypeError} if `store` is not a store or has a reserved kind, if `timeoutMs` is not a positive integer; for
 * an unknown option, or an option of a wrong type.
 */
export function remoteStore(store: Store, options: RemoteStoreOptions = {}): Store {
  for (const method of ["take", "reset", "ping"] as const) {
    if (typeof store?.[method] === "function") continue;
    throw new TypeError(`remoteStore: store: expected the methods take, reset and ping, found no ${method}`);
  }
  if (typeof store.kind !== "string" || RESERVED_KINDS.includes(store.kind)) {
    const expected = `a kind that is a string, and none of ${RESERVED_KINDS.join(", ")}`;
    throw new TypeError(`remoteStore: store: expected ${expected}, found ${JSON.stringify(store.kind)}`);
  }
  checkOptions("remoteStore", options, REMOTE_STORE_TYPES);
  const { timeoutMs = DEFAULT_TIMEOUT_MS, onBreakerChange = reportBreaker } = options;
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1) {
    throw new TypeError(`remoteStore: timeoutMs must be a positive integer, found ${String(timeoutMs)}`);
  }
  return withIsolate(withBreaker(withTimeBudget(store, timeoutMs), { timeoutMs, onBreakerChange }));
}

/** A store whose calls end within `timeoutMs`, or within the budget of the decision, and throw `StoreError` only. */
function withTimeBudget(store: Store, timeoutMs: number): Store {
  async function within<T>(work: () => Promise<T>, budgetMs = timeoutMs, set?: typeof setIdleTimeout): Promise<T> {
    // A store may throw before there is a promise.
    const call = (async () => await work())();
    try {
      return await withinBudget(call, { budgetMs, timeoutMs, set });
    } catch (error) {
      if (error instanceof OutOfTime) throw new StoreError("TIMEOUT", undefined, error.late as LateReply);
      throw failureOf(error);
    }
  }

  const { live } = store;
  // Named one by one: the store may be an instance of a class, whose methods a spread would leave behind.
  return {
    kind: store.kind,
    keySecret: store.keySecret,
    timeoutMs,
    take: (request, nowMs, budgetMs) => within(() => store.take(request, nowMs, budgetMs), budgetMs),
    reset: (keys) => within(() => store.reset(keys)),
    ping: () => within(() => store.ping()),
    ...(store.warning && { warning: () => within(() => store.warning!()) }),
    ...(live && {
      live: {
        ...(live.replied && { replied: (namespace) => live.replied!(namespace) }),
        // What waits for the document has a timer of its own.
        read: (known, budgetMs, namespace) =>
          within(() => live.read(known, undefined, namespace), budgetMs, setIdleTimeout),
        write: (text, version, namespace) => within(() => live.write(text, version, namespace)),
      },
    }),
  };
}
