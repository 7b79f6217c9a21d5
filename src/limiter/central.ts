/** The store that all regions share, with what an isolate knows of it: apart from the limiter, which need not carry it. */

import type { Answers } from "../region/answers.ts";
import { regional } from "../region/regional.ts";
import { type RedisStoreOptions, redisStore as remoteStore } from "../store/redis.ts";
import type { Store } from "../store/store.ts";

/** A store far away, which an isolate asks as seldom as it can. */
export interface CentralStore extends Store {
  /** What one limiter of this isolate asks instead. */
  answers(): Answers;
}

/**
 * The store for production: one Redis for all regions, over HTTP. Limits are exact over all of them: every decision is one
 * call of one atomic script, which reads the clock of Redis. A refusal that the last reply makes certain needs no call, for 5 s.
 *
 * No I/O until the first take: may be called at module scope.
 *
 * @throws {TypeError} if `url` is no http(s) URL, `token` is empty, or `timeoutMs` is not a positive integer.
 */
export function redisStore(options: RedisStoreOptions): Store {
  const store = remoteStore(options);
  const central: CentralStore = { ...store, answers: () => regional(store) };
  return central;
}

/** How a limiter asks this store, if not every time directly. */
export function answersOf(store: Store): Answers | undefined {
  return "answers" in store ? (store as CentralStore).answers() : undefined;
}
