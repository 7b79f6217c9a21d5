/** The store that needs nothing but a Cloudflare account: Durable Objects, with everything that an isolate adds. */

import { checkOptions } from "../kernel/check-options.ts";
import {
  type CountsNamespace,
  isCountsNamespace,
  isLocationHint,
  LOCATION_HINTS,
  type LocationHint,
  MAX_SHARDS,
} from "../kernel/config/counts.ts";
import { changeOf, reportBreaker } from "../kernel/place/breaker.ts";
import { durableObjectPlace, shardName } from "../kernel/store/durable-object-place.ts";
import type { Store } from "../kernel/store/store.ts";
import { REMOTE_STORE_TYPES, type RemoteStoreOptions, remoteStore } from "./remote-store.ts";
import { rendezvous } from "./rendezvous.ts";
import { splitStore } from "./split-store.ts";

/** Options of `durableObjectStore`. */
export interface DurableObjectStoreOptions extends RemoteStoreOptions {
  /**
   * Where Cloudflare places the object when it is called for the first time: a location hint, `weur` for Western Europe
   * for example. An object never moves afterwards. Absent: near the first request.
   */
  readonly location?: LocationHint;
  /**
   * How many objects share the keys, 1 … 256. Default 1. All keys of a policy and client lie in one object. With more
   * objects than before, most keys move to another object and start at zero there: from 1 to n all but one in n, from n
   * to n + 1 one in n + 1.
   */
  readonly shards?: number;
}

const OPTION_TYPES: Readonly<Record<keyof DurableObjectStoreOptions, string>> = {
  location: "string",
  shards: "number",
  ...REMOTE_STORE_TYPES,
};

/**
 * One Durable Object for all regions, by RPC: no service beside Cloudflare is needed. The Worker exports its class,
 * `HeadgateCounts` of `headgate/durable-object`, and binds it. Every decision is one call, decided and written by the
 * object in one turn and by its own clock: the count is exact over all regions. A reply leaves the object only after
 * its count is durable. For 5 s after a reply, a refusal that the reply makes certain needs no call.
 *
 * Cloudflare documents 500 to 1,000 calls per second for one object (2026-11). `consistency: "leased"` makes fewer, and
 * with `shards` the calls go to several objects, as with `splitStore`.
 *
 * There is no I/O until the first take: it may be called at module scope.
 *
 * @param namespace the binding of the class, for example `env.COUNTS`.
 *
 * @throws {TypeError} if `namespace` is not a Durable Object namespace, if `location` is not one of Cloudflare's
 * location hints, if `shards` is not an integer from 1 to 256, or if `timeoutMs` is not a positive integer; for an
 * unknown option, or an option of a wrong type.
 */
export function durableObjectStore(namespace: CountsNamespace, options: DurableObjectStoreOptions = {}): Store {
  if (!isCountsNamespace(namespace)) {
    throw new TypeError(
      "durableObjectStore: expected a Durable Object namespace, such as env.COUNTS of [[durable_objects.bindings]]",
    );
  }
  checkOptions("durableObjectStore", options, OPTION_TYPES);
  const { location, shards = 1, onBreakerChange = reportBreaker, ...remote } = options;
  if (location !== undefined && !isLocationHint(location)) {
    throw new TypeError(`durableObjectStore: location must be one of ${LOCATION_HINTS.join(", ")}`);
  }
  if (!Number.isSafeInteger(shards) || shards < 1 || shards > MAX_SHARDS) {
    throw new TypeError(`durableObjectStore: shards must be an integer from 1 to ${MAX_SHARDS}, found ${shards}`);
  }
  const numbers = Array.from({ length: shards }, (_, shard) => shard);
  const places = numbers.map((shard) => {
    const report = changeOf(shards > 1 ? `shard ${shard}` : undefined, onBreakerChange);
    return remoteStore(durableObjectPlace(namespace, location, shard), { ...remote, onBreakerChange: report });
  });
  return splitStore(places, rendezvous(numbers.map(shardName)));
}
