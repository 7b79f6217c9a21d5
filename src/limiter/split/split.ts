/** What a limiter asks of several places. The code behind it is carried only by programs that can have several. */

import { isolateOf } from "../../isolate/isolate.ts";
import type { ListenerOf } from "../../isolate/listener.ts";
import { plainTaker } from "../../isolate/plain.ts";
import type { Consistency, Taker } from "../../isolate/taker.ts";
import type { Store } from "../../store/store.ts";

/** Who answers requests of a consistency. */
export type Takers = (consistency: Consistency) => Taker;

/** A store that may be several places, or whose keys may lie in several parts of it. */
export interface StoreWithSplit extends Store {
  /** The stores that it is made of. */
  readonly places: readonly Store[];
  /** Makes what one limiter of this isolate keeps beside the places. */
  split(listenerOf?: ListenerOf): Takers;
}

/** Who answers for a limiter: several places, an isolate for one place, or the store itself. */
export function takersOf(store: Store, listenerOf?: ListenerOf): Takers {
  const split = (store as Partial<StoreWithSplit>).split?.(listenerOf);
  if (split) return split;
  const isolate = isolateOf(store, { listener: listenerOf?.(0) });
  if (isolate) return (consistency) => isolate[consistency];
  const plain = plainTaker(store);
  return () => plain;
}

/** The places of a store. One place: the store itself. */
export function placesOf(store: Store): readonly Store[] {
  return (store as Partial<StoreWithSplit>).places ?? [store];
}

/** A Worker opens six connections at once (Cloudflare, 2026-11): a seventh call waits, and its budget runs. */
const AT_A_TIME = 6;

/** Does the work for all of them. @throws the first error, when all are done. */
export async function sixAtATime<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = [];
  for (let at = 0; at < all.length; at += AT_A_TIME) {
    const done = await Promise.allSettled(all.slice(at, at + AT_A_TIME).map(work));
    for (const one of done) if (one.status === "rejected") failures.push(one.reason);
  }
  if (failures.length > 0) throw failures[0];
}
