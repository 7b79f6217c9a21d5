/** A Redis that may be a cluster: from the first `CROSSSLOT` on, a decision over several slots is split. */

import { isolateOf } from "../../isolate/isolate.ts";
import type { ListenerOf } from "../../isolate/listener.ts";
import { TRUSTED_ALONE_MS } from "../../isolate/refusals.ts";
import type { Store } from "../../store/store.ts";
import type { Decider } from "../decide.ts";
import { createDecideOnce } from "../decide-once.ts";
import { createSplit, TRUSTED_MS } from "./decide-split.ts";
import type { StoreWithSplit } from "./split.ts";

/** @param store what `withIsolate` has made. */
export function splitBySlot(store: Store): StoreWithSplit {
  function split(listenerOf?: ListenerOf): Decider {
    const clusters = new Set<number>();
    const trustedMs = () => (clusters.size > 0 ? TRUSTED_MS : TRUSTED_ALONE_MS);
    const isolate = isolateOf(store, { trustedMs, listener: listenerOf?.(0) })!;
    const inParts = createSplit([isolate], () => 0, clusters);
    const once = createDecideOnce(store, isolate, (keys, asked) => {
      clusters.add(0);
      return inParts.decide(keys, asked);
    });
    return {
      decide: (keys, asked) => (clusters.size > 0 ? inParts : once).decide(keys, asked),
      reset: (keys) => inParts.reset(keys),
    };
  }
  return { ...store, places: [store], split };
}
