/** The store that a Worker's variables and secrets name. */

import { ConfigurationError } from "../config/mistake.ts";
import { parseRedis } from "../config/redis.ts";
import { redisStore } from "../isolate/redis-store.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";

const stores = new WeakMap<object, Store>();

/**
 * Makes a `redisStore` from `UPSTASH_REDIS_REST_URL`, `UPSTASH_REDIS_REST_TOKEN` and `REDIS_TIMEOUT_MS` (1 … 30000 ms,
 * default 250). If URL and token are both absent or empty: a `memoryStore`, with one warning on the console.
 *
 * The same `env` gives the same store: several limiters of an isolate share its breaker.
 *
 * @param env a Worker's bindings, or `process.env`.
 * @throws {ConfigurationError} if either URL or token is missing, or if a value is wrong.
 * @throws {TypeError} if `env` is not an object.
 */
export function storeFromEnv(env: unknown): Store {
  if (typeof env !== "object" || env === null) throw new TypeError("storeFromEnv: expected the env of a Worker");
  const store = stores.get(env) ?? create(env);
  stores.set(env, store);
  return store;
}

function create(env: object): Store {
  const parsed = parseRedis(env as Readonly<Record<string, unknown>>);
  if (parsed.mistakes) throw new ConfigurationError(parsed.mistakes);
  if (parsed.value) return redisStore(parsed.value);
  console.warn(
    "headgate: no UPSTASH_REDIS_REST_URL and no UPSTASH_REDIS_REST_TOKEN: limits hold in each isolate by itself, in memory",
  );
  return memoryStore();
}
