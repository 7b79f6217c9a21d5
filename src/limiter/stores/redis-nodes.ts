/** Several Redis as one store: some share the keys, others hold what counts in one region. */

import type { RedisSettings } from "../../config/redis.ts";
import { LIVE_KEY } from "../../core/layout.ts";
import { changeOf, reportBreaker } from "../../isolate/breaker.ts";
import type { Store } from "../../store/store.ts";
import { groupBy } from "../split/group-by.ts";
import { regionOfKey } from "../store-key.ts";
import { redisStore } from "./redis-store.ts";
import { rendezvous } from "./rendezvous.ts";
import { splitNamed } from "./split-store.ts";

/**
 * Nodes of one region share the keys that count in that region, by rendezvous hashing of their names. The nodes without
 * a region share all other keys, those of regions without a node included. They have a place for the live document too.
 */
export function redisNodes({ nodes, timeoutMs }: RedisSettings): Store {
  const stores = nodes.map(({ name, url, token }) => {
    return redisStore({ url, token, timeoutMs, onBreakerChange: changeOf(name, reportBreaker()) });
  });
  const groups = groupBy([...nodes.keys()], (at) => nodes[at]!.region);
  const placeIn = new Map(
    groups.map(([region, positions]) => {
      const place = rendezvous(positions.map((at) => nodes[at]!.name ?? ""));
      return [region, (key: string) => positions[place(key)]!];
    }),
  );
  const shared = placeIn.get(undefined)!;
  return splitNamed(stores, (key) => (placeIn.get(regionOfKey(key)) ?? shared)(key), {
    nameOf: (at) => nodes[at]!.name ?? "",
    liveAt: shared(LIVE_KEY),
  });
}
