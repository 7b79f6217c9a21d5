/** The store that all regions share, with all that an isolate adds to it: apart from the limiter, which need not carry it. */

import type { Answers } from "./reply-source.ts";
import { regional } from "./local-first.ts";
import type { Timing } from "./timing.ts";
import { type RedisStoreOptions, redisStore as remoteStore } from "../store/redis.ts";
import type { Store } from "../store/store.ts";
import { createFallback, type Fallback } from "./fallback/fallback.ts";
import { createMissed, type Missed } from "./repay/missed.ts";
import { createOwed } from "./repay/debts.ts";
import { reportBreaker } from "../limiter/report.ts";
import { createUnreleased, type Unreleased } from "./repay/unreleased-slots.ts";

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
  /** What the store is to hear when it answers again. */
  readonly missed: Missed;
  /** Slots among that. */
  readonly unreleased: Unreleased;
}

/**
 * The store for production: one Redis for all regions, over HTTP. Limits are exact over all of them: every decision is one
 * call of one atomic script, which reads the clock of Redis. A refusal that the last reply makes certain needs no call, for 5 s.
 *
 * No I/O until the first take: may be called at module scope.
 *
 * @throws {TypeError} if `url` is no http(s) URL or holds credentials, `token` is empty or holds white space, or `timeoutMs` is not
 * a positive integer; for an unknown option, or one of a wrong type.
 */
export function redisStore(options: RedisStoreOptions): Store {
  return central(remoteStore(options && { ...options, onBreakerChange: options.onBreakerChange ?? reportBreaker() }));
}

/** @param timing of an isolate; tests and simulation replace it. */
export function central(store: Store, timing?: Timing): CentralStore {
  return {
    ...store,
    isolate() {
      const [owed, unreleased] = [createOwed(), createUnreleased()];
      const fallback = createFallback(store, owed);
      const answers = regional(fallback.watched, timing);
      return { answers, fallback, missed: createMissed(fallback.watched, owed, unreleased), unreleased };
    },
  };
}

/** What a limiter has beside this store; undefined: nothing but counters of its own, should the store fail nevertheless. */
export function isolateOf(store: Store): Isolate | undefined {
  return "isolate" in store ? (store as CentralStore).isolate() : undefined;
}
