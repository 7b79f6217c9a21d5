/** The store that a Worker's bindings name, or the variables of a process. */

import type { Bindings } from "../kernel/config/bindings.ts";
import { isWorkers, type Member, membersOf, onceForEqual, processEnv } from "../kernel/config/env.ts";
import { ConfigurationError } from "../kernel/config/mistake.ts";
import type { RedisSettings } from "../kernel/config/redis.ts";
import { parseStore, type StoreSettings } from "../kernel/config/store.ts";
import { groupBy } from "../kernel/group-by.ts";
import { regionOfKey } from "../kernel/limiter/store-key.ts";
import { changeOf, reportBreaker } from "../kernel/place/breaker.ts";
import { memoryStore } from "../kernel/store/memory.ts";
import type { Store } from "../kernel/store/store.ts";
import { durableObjectStore } from "./durable-object-store.ts";
import { redisStore } from "./redis-store.ts";
import { rendezvous } from "./rendezvous.ts";
import { splitWithLive } from "./split-store.ts";

/**
 * Makes the store that the bindings name:
 * - a `redisStore`, from `UPSTASH_REDIS_REST_URL` and `UPSTASH_REDIS_REST_TOKEN`;
 * - several, from `REDIS_NODES` and the secrets that it names: see docs/stores.md;
 * - without Redis a `durableObjectStore`, from the binding `COUNTS` and the variables `COUNTS_LOCATION` and
 *   `COUNTS_SHARDS`;
 * - without `COUNTS` too a `memoryStore`, with one warning on the console.
 *
 * An empty text counts as absent. `REDIS_TIMEOUT_MS` (1 … 30000 ms, default 250) is the time budget of either.
 *
 * If `env` names no store, the variables of the process are read in its place, with the same names: Bun, Deno, AWS
 * Lambda, Netlify and Vercel pass objects without variables. Deno needs `--allow-env`.
 *
 * Equal settings of a store give the same store: several limiters of a program share its breaker. All that name no
 * store share one in memory.
 *
 * @param env a Worker's bindings, what another platform passes in their place, or `process.env`.
 * @throws {ConfigurationError} if either URL or token is missing, or if a value is wrong.
 * @throws {TypeError} if `env` is not an object.
 */
export function storeFromEnv(env: unknown): Store {
  if (typeof env !== "object" || env === null)
    throw new TypeError("storeFromEnv: expected the env of a Worker, or process.env");
  const own = settingsOf(env);
  return storeLike(namesNone(own) ? settingsOf(processEnv() ?? env) : own);
}

/**
 * The limiters of a program share the breaker of its store, although each request may bring an `env` object. In memory
 * they share the counts: a text that differs in each request must not start them anew.
 */
const storeLike = onceForEqual(membersOfSettings, (settings: StoreSettings) => {
  if (namesNone(settings)) {
    const found = isWorkers()
      ? ", no UPSTASH_REDIS_REST_TOKEN and no binding COUNTS: each isolate"
      : " and no UPSTASH_REDIS_REST_TOKEN: each process";
    const quiet = "Where that is right, as in tests, pass memoryStore() instead of storeFromEnv(…)";
    console.warn(`headgate: no UPSTASH_REDIS_REST_URL${found} counts on its own, in memory. ${quiet}`);
  }
  return storeOf(settings);
});

function membersOfSettings({ redis, counts }: StoreSettings): Member[] {
  return membersOf({ ...counts, redis: JSON.stringify(redis) });
}

function settingsOf(env: object): StoreSettings {
  const parsed = parseStore(env as Bindings);
  if (parsed.mistakes) throw new ConfigurationError(parsed.mistakes);
  return parsed.value;
}

function namesNone({ redis, counts }: StoreSettings): boolean {
  return !redis && !counts;
}

/** The store of settings that were checked already. */
export function storeOf({ redis, counts }: StoreSettings): Store {
  if (redis) return redisNodes(redis);
  if (!counts) return memoryStore();
  const { namespace, ...options } = counts;
  return durableObjectStore(namespace, options);
}

/**
 * Several Redis as one store. Nodes of one region share the keys that count in that region, by rendezvous hashing of
 * their names. The nodes without a region share all other keys, those of regions without a node included. One node
 * holds the live document: the one that says so, or the first.
 */
export function redisNodes({ nodes, timeoutMs }: RedisSettings): Store {
  const stores = nodes.map(({ name, url, token }) => {
    return redisStore({ url, token, timeoutMs, onBreakerChange: changeOf(name, reportBreaker) });
  });
  const groups = groupBy([...nodes.keys()], (at) => nodes[at]!.region);
  const placeIn = new Map(
    groups.map(([region, positions]) => {
      const place = rendezvous(positions.map((at) => nodes[at]!.name ?? ""));
      return [region, (key: string) => positions[place(key)]!];
    }),
  );
  const shared = placeIn.get(undefined)!;
  const named = nodes.findIndex(({ live }) => live);
  const { live } = stores[Math.max(0, named)]!;
  return splitWithLive(stores, (key) => (placeIn.get(regionOfKey(key)) ?? shared)(key), live);
}
