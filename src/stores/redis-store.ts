/** The store for production: one Redis for all regions, with everything that an isolate adds to a store. */

import { overPlaces, TRUSTED_MS } from "../features/places/places.ts";
import { checkOptions } from "../kernel/check-options.ts";
import type { StoreWithSplit } from "../kernel/limiter/takers.ts";
import { createThrown } from "../kernel/lines.ts";
import { reportBreaker, withBreaker } from "../kernel/place/breaker.ts";
import { isolateOf, type PlaceTaker, type Takers, type TakersOptions, withIsolate } from "../kernel/place/isolate.ts";
import { TRUSTED_ALONE_MS } from "../kernel/place/refusals.ts";
import type { Taker } from "../kernel/place/taker.ts";
import { type RedisCommand, redisPlace } from "../kernel/store/redis.ts";
import { DEFAULT_TIMEOUT_MS, type Store } from "../kernel/store/store.ts";
import { REMOTE_STORE_TYPES, type RemoteStoreOptions } from "./remote-store.ts";

/** `redisStore` over HTTP. */
export interface RedisRestOptions extends RemoteStoreOptions {
  /** Base URL of the REST service: Upstash's, or a serverless-redis-http in front of any Redis. */
  readonly url: string;
  /** The bearer token of the REST service. */
  readonly token: string;
}

/** `redisStore` over TCP, through a client that the program has. */
export interface RedisCommandOptions extends RemoteStoreOptions {
  /**
   * Sends a command. The client must send it at most once and must not keep it for later: what is sent twice
   * counts twice. docs/stores.md has the options for ioredis and node-redis, on one Redis, Sentinel and Cluster.
   */
  readonly command: RedisCommand;
  /**
   * The secret for hashing client keys, at least 16 characters. Default: `createLimiter` must have one. Another secret
   * starts all counts anew.
   */
  readonly keySecret?: string;
  /**
   * Gives up the client's connections and makes new ones. Called when the breaker opens, and every 10 s while it is
   * open: a client keeps a socket to a primary that was demoted, or to an address that has gone silent. Default:
   * nothing is done.
   */
  readonly reconnect?: () => unknown;
}

/** Options of `redisStore`: a REST service, or a client that the program has. */
export type RedisStoreOptions = RedisRestOptions | RedisCommandOptions;

const OPTION_TYPES: Readonly<Record<keyof (RedisRestOptions & RedisCommandOptions), string>> = {
  url: "string",
  token: "string",
  command: "function",
  keySecret: "string",
  reconnect: "function",
  ...REMOTE_STORE_TYPES,
};

/**
 * The store for production: one Redis for all regions, over HTTP, or over TCP through a client that the program has.
 * Every decision is one call of one atomic script, which reads the clock of Redis: the count is exact over all regions.
 * The worst case in any window depends on the algorithm (docs/algorithms.md). For 5 s after a reply, a refusal that
 * the reply makes certain needs no call.
 *
 * There is no I/O until the first take: it may be called at module scope.
 *
 * @throws {TypeError} if `url` is not an http(s) URL or holds credentials, if `token` is empty or holds white space, if
 * `keySecret` has less than 16 characters or stands beside `url`, if both or none of `url` and `command` are given, or
 * if `timeoutMs` is not a positive integer; for an unknown option, or an option of a wrong type.
 */
export function redisStore(options: RedisStoreOptions): Store {
  checkOptions("redisStore", options, OPTION_TYPES);
  const { onBreakerChange = reportBreaker(), reconnect, ...place } = options as RedisRestOptions & RedisCommandOptions;
  const timeoutMs = place.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const connectAnew = reconnect && throttled(reconnect);
  const store = withBreaker(redisPlace(place), {
    timeoutMs,
    onBreakerChange(change) {
      if (change.state === "open") connectAnew?.();
      onBreakerChange(change);
    },
  });
  return splitByHashSlot(withIsolate(connectAnew ? withReconnect(store, connectAnew) : store));
}

/** A new connection needs a while: node-redis gives up after 5 s, and ioredis after 10. */
const RECONNECT_EVERY_MS = 10_000;

function throttled(reconnect: () => unknown): () => void {
  const writeThrown = createThrown("reconnect threw");
  let lastAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (Math.abs(Date.now() - lastAtMs) < RECONNECT_EVERY_MS) return;
    lastAtMs = Date.now();
    (async () => await reconnect())().catch(writeThrown);
  };
}

/** Has the client connect anew while the breaker is open: the store calls it then only to see whether it is back. */
function withReconnect(store: Store, connectAnew: () => void): Store {
  return {
    ...store,
    async take(request, nowMs, budgetMs) {
      if (store.breaker?.() === "open") connectAnew();
      return await store.take(request, nowMs, budgetMs);
    },
  };
}

/**
 * A Redis that may be a cluster: from the first `CROSSSLOT` on, a decision over several hash slots is split.
 *
 * @param store what `withIsolate` has made.
 */
export function splitByHashSlot(store: Store): StoreWithSplit {
  function split({ listenerOf, wraps }: TakersOptions): Takers {
    const clusters = new Set<number>();
    const trustedMs = () => (clusters.size > 0 ? TRUSTED_MS : TRUSTED_ALONE_MS);
    const isolate = isolateOf(store, { trustedMs, listener: listenerOf?.(0), wraps })!;
    const bySlot = (whole: PlaceTaker): Taker => {
      const inParts = overPlaces([whole], () => 0, clusters);
      return {
        ...inParts,
        async take(ask, call) {
          if (clusters.size > 0) return await inParts.take(ask, call);
          const answer = await whole.take(ask, { ...call, mayBeApart: true });
          if (answer.outcome !== "apart") return answer;
          clusters.add(0);
          return await inParts.take(ask, call);
        },
      };
    };
    return { strict: bySlot(isolate.strict), wrapped: (wrap) => bySlot(isolate.wrapped(wrap)) };
  }
  return { ...store, places: [store], split };
}
