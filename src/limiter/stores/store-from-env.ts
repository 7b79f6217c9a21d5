/** The store that a Worker's bindings name. */

import { ConfigurationError } from "../../config/mistake.ts";
import { parseStore, type StoreSettings } from "../../config/store.ts";
import { memoryStore } from "../../store/memory.ts";
import type { Store } from "../../store/store.ts";
import { durableObjectStore } from "./durable-object-store.ts";
import { redisNodes } from "./redis-nodes.ts";

const stores = new WeakMap<object, Store>();

/**
 * Makes the store that the bindings name:
 * - a `redisStore`, from `UPSTASH_REDIS_REST_URL` and `UPSTASH_REDIS_REST_TOKEN`;
 * - several, from `REDIS_NODES` and the secrets that it names: see docs/redis.md;
 * - without Redis a `durableObjectStore`, from the binding `COUNTS` and the variables `COUNTS_LOCATION` and
 *   `COUNTS_SHARDS`;
 * - without `COUNTS` too a `memoryStore`, with one warning on the console.
 *
 * An empty text counts as absent. `REDIS_TIMEOUT_MS` (1 … 30000 ms, default 250) is the time budget of either.
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
  const parsed = parseStore(env as Readonly<Record<string, unknown>>);
  if (parsed.mistakes) throw new ConfigurationError(parsed.mistakes);
  const store = storeOf(parsed.value);
  if (store.kind === "memory") {
    console.warn(
      "headgate: no UPSTASH_REDIS_REST_URL, no UPSTASH_REDIS_REST_TOKEN and no binding COUNTS: limits hold in each isolate by itself, in memory",
    );
  }
  return store;
}

/** The store of settings that were checked already. */
export function storeOf({ redis, counts }: StoreSettings): Store {
  if (redis) return redisNodes(redis);
  if (!counts) return memoryStore();
  const { namespace, ...options } = counts;
  return durableObjectStore(namespace, options);
}
