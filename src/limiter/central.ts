/** The store that all regions share, with all that an isolate adds to it: apart from the limiter, which need not carry it. */

import type { Answers } from "../region/answers.ts";
import { regional } from "../region/regional.ts";
import { type RedisStoreOptions, redisStore as remoteStore } from "../store/redis.ts";
import type { Store } from "../store/store.ts";
import { createFallback, type Fallback } from "./fallback.ts";
import { createOwed, type Owed } from "./owed.ts";
import { reportBreaker } from "./report.ts";

/** A store far away: asked as seldom as possible, and able to fail. */
export interface CentralStore extends Store {
  /** What one limiter of this isolate has beside the store. */
  isolate(): Isolate;
}

export interface Isolate {
  /** Asked instead of the store. */
  readonly answers: Answers;
  /** Asked while the store has no answer. */
  readonly fallback: Fallback;
  /** What it admitted meanwhile. */
  readonly owed: Owed;
}

/**
 * The store for production: one Redis for all regions, over HTTP. Limits are exact over all of them: every decision is one
 * call of one atomic script, which reads the clock of Redis. A refusal that the last reply makes certain needs no call, for 5 s.
 *
 * No I/O until the first take: may be called at module scope.
 *
 * @throws {TypeError} if `url` is no http(s) URL or holds credentials, `token` is empty or holds white space, or `timeoutMs` is not
 * a positive integer.
 */
export function redisStore(options: RedisStoreOptions): Store {
  return central(remoteStore({ ...options, onBreakerChange: options.onBreakerChange ?? reportBreaker() }));
}

export function central(store: Store): CentralStore {
  return {
    ...store,
    isolate() {
      const fallback = createFallback(store);
      return { answers: regional(fallback.watched), fallback, owed: createOwed() };
    },
  };
}

/** What a limiter has beside this store; undefined: nothing, every take goes to the store, which never fails. */
export function isolateOf(store: Store): Isolate | undefined {
  return "isolate" in store ? (store as CentralStore).isolate() : undefined;
}
