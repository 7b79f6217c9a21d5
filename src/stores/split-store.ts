/** Several places as one store: a decision whose keys lie in several places is split. */

import { overPlaces, TRUSTED_MS } from "../features/places/places.ts";
import { groupBy } from "../kernel/group-by.ts";
import { placesOf, type StoreWithSplit, sixAtATime } from "../kernel/limiter/takers.ts";
import { createIsolate, type Isolate, isolateOf, type PlaceTaker } from "../kernel/place/isolate.ts";
import type { LiveStorage } from "../kernel/store/live.ts";
import { type Store, StoreError } from "../kernel/store/store.ts";

/**
 * Several places as one store, for `createLimiter`. A place is what `redisStore` or `remoteStore` makes. Each key of a
 * limiter counts in one place. A decision over keys of several places is split: each place checks and counts its own
 * keys, all places at once. If one place refuses, the others get back what they counted, after the answer. No limit is
 * exceeded, and an admitted request waits for one round trip.
 *
 * If a place has no answer, only the policies whose keys lie there follow their `onStoreFailure`. See
 * docs/failure-modes.md.
 *
 * With one place this is that place itself.
 *
 * The live document lies in the first place that can keep one.
 *
 * @param placeOf the position in `places` where a key counts, 0 or more: always the same for the same key, in every
 * process. `rendezvous` makes such a function. A key is `hg:2:{<policy>:<hash>}`, and `:<region>` behind it for limits
 * with `scope: "region"`.
 *
 * The secret for hashing client keys is that of the first place, unless `createLimiter` gets a `keySecret`: give it one
 * if the first place may change.
 *
 * @throws {TypeError} if `places` is empty or holds what `splitStore` made, or if `placeOf` is not a function.
 */
export function splitStore(places: readonly Store[], placeOf: (key: string) => number): Store {
  return splitWithLive(places, placeOf, places.find(({ live }) => live)?.live);
}

/** `splitStore` with another place for the live document. @param live undefined: there is none. */
export function splitWithLive(
  places: readonly Store[],
  placeOf: (key: string) => number,
  live: LiveStorage | undefined,
): Store {
  const [first] = places;
  if (!first) throw new TypeError("splitStore: places must hold at least one store, found an empty list");
  if (places.some((place) => placesOf(place).length > 1)) {
    throw new TypeError("splitStore: a place is one store; put the places of the inner splitStore into this list");
  }
  if (typeof placeOf !== "function") {
    throw new TypeError(`splitStore: placeOf must be a function of a key, found ${typeof placeOf}`);
  }
  if (places.length === 1) return first;

  /** The place of a key. What belongs to one, as limits, ids and bans do, lies beside it (kernel/core/take.ts). */
  function place(key: string): number {
    const at = placeOf(key.replace(/[#!][^}]*$/, ""));
    if (places[at]) return at;
    throw new TypeError(
      `splitStore: placeOf must return an integer from 0 to ${places.length - 1}, found ${String(at)}`,
    );
  }

  const trustedMs = () => TRUSTED_MS;
  const timeouts = places.flatMap(({ timeoutMs }) => timeoutMs ?? []);
  const store: StoreWithSplit = {
    kind: first.kind,
    keySecret: first.keySecret,
    ...(timeouts.length > 0 && { timeoutMs: Math.max(...timeouts) }),
    breaker: () => (places.some((one) => one.breaker?.() === "open") ? "open" : "closed"),
    places,

    split({ listenerOf, wraps }) {
      const isolates = places.map((one, at) => {
        const options = { trustedMs, listener: listenerOf?.(at), wraps };
        return isolateOf(one, options) ?? createIsolate(one, undefined, options);
      });
      const clusters = new Set<number>();
      const over = (takerOf: (isolate: Isolate) => PlaceTaker) => overPlaces(isolates.map(takerOf), place, clusters);
      return { strict: over(({ strict }) => strict), wrapped: (wrap) => over(({ wrapped }) => wrapped(wrap)) };
    },

    // A limiter does not come here: it uses `split`. A take of another caller is atomic, in one place.
    async take(request, nowMs, budgetMs) {
      const [at, ...others] = new Set(request.keys.map(({ key }) => place(key)));
      if (at === undefined || others.length > 0) throw new StoreError("CROSSSLOT");
      return await places[at]!.take(request, nowMs, budgetMs);
    },

    async reset(keys) {
      await sixAtATime(groupBy(keys, place), ([at, own]) => places[at]!.reset(own));
    },

    ...(live && { live }),

    async ping() {
      await sixAtATime(places, (one) => one.ping());
    },
  };
  return store;
}
