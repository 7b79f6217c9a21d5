/** What a limiter asks of several places. The code behind it is carried only by programs that can have several. */

import type { ListenerOf } from "../../isolate/listener.ts";
import type { Store } from "../../store/store.ts";
import type { Decider } from "../decide.ts";

/** A store that may be several places, or whose keys may lie in several parts of it. */
export interface StoreWithSplit extends Store {
  /** The stores that it is made of. */
  readonly places: readonly Store[];
  /** Makes what one limiter of this isolate keeps beside the places. */
  split(listenerOf?: ListenerOf): Decider;
}

/** What decides for a limiter over this store. Undefined: the store itself, in one call. */
export function splitOf(store: Store, listenerOf?: ListenerOf): Decider | undefined {
  return (store as Partial<StoreWithSplit>).split?.(listenerOf);
}

/** The places of a store. One place: the store itself. */
export function placesOf(store: Store): readonly Store[] {
  return (store as Partial<StoreWithSplit>).places ?? [store];
}

/** Groups values by `groupOf`, in the order of each group's first value. (Node 20 has no `Map.groupBy`.) */
export function groupBy<T, K>(all: readonly T[], groupOf: (one: T) => K): [group: K, own: T[]][] {
  const groups = new Map<K, T[]>();
  for (const one of all) {
    const group = groupOf(one);
    const own = groups.get(group);
    if (own) own.push(one);
    else groups.set(group, [one]);
  }
  return [...groups];
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
