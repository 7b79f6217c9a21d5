/** The store for production: one Redis for all regions, with everything that an isolate adds to a store. */

import { checkOptions } from "../../check-options.ts";
import { type BreakerOptions, reportBreaker, withBreaker } from "../../isolate/breaker.ts";
import { withIsolate } from "../../isolate/isolate.ts";
import { DEFAULT_TIMEOUT_MS, redisPlace } from "../../store/redis.ts";
import type { Store } from "../../store/store.ts";
import { withLive } from "../live/with-live.ts";
import { splitBySlot } from "../split/by-slot.ts";

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /** Base URL of the REST service: Upstash's, or a serverless-redis-http in front of any Redis. */
  readonly url: string;
  /** The bearer token of the REST service. */
  readonly token: string;
  /** Time budget of one call in milliseconds, connection included. Default 250. */
  readonly timeoutMs?: number;
  /** Called when this isolate stops asking Redis, and when it asks again. Default: a line on the console. */
  readonly onBreakerChange?: BreakerOptions["onBreakerChange"];
}

const OPTION_TYPES: Readonly<Record<keyof RedisStoreOptions, string>> = {
  url: "string",
  token: "string",
  timeoutMs: "number",
  onBreakerChange: "function",
};

/**
 * The store for production: one Redis for all regions, over HTTP. Every decision is one call of one atomic script,
 * which reads the clock of Redis: the count is exact over all regions. What one true window can hold depends on the
 * algorithm (docs/algorithms.md). For 5 s after a reply, a refusal that the reply makes certain needs no call.
 *
 * There is no I/O until the first take: it may be called at module scope.
 *
 * @throws {TypeError} if `url` is not an http(s) URL or holds credentials, if `token` is empty or holds white space, or
 * if `timeoutMs` is not a positive integer; for an unknown option, or an option of a wrong type.
 */
export function redisStore(options: RedisStoreOptions): Store {
  checkOptions("redisStore", options, OPTION_TYPES);
  const { onBreakerChange = reportBreaker(), ...place } = options;
  const timeoutMs = place.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  return withLive(splitBySlot(withIsolate(withBreaker(redisPlace(place), { timeoutMs, onBreakerChange }))));
}
