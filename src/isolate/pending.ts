/** What requests of this isolate have begun and not ended yet, by key. */

import { BoundedMap } from "../bounded-map.ts";

const MAX_KEYS = 10_000;

interface Pending<T> {
  /** @returns a function to call when it has ended. */
  begin(key: string, one: T): () => void;
  /** Everything that is pending under a key, the oldest first. */
  all(key: string): Iterable<T>;
  /** The same, once what is forgotten is dropped. @param atMs now by the local clock, in ms since the epoch. */
  recent(key: string, atMs: number): Iterable<T>;
}

/** @param forgottenMs what began so long ago counts no more: the runtime has ended its request before it could end. */
export function createPending<T extends { readonly atMs: number }>(forgottenMs: number): Pending<T> {
  // Bounded, because what was forgotten stays until its key is used again.
  const pending = new BoundedMap<string, Set<T>>({ maxSize: MAX_KEYS });
  const all = (key: string) => pending.get(key) ?? new Set<T>();
  const isForgotten = (one: T, atMs: number) => Math.abs(atMs - one.atMs) >= forgottenMs;

  return {
    begin(key, one) {
      const same = all(key);
      // Requests that never ended must not pile up under a busy key.
      for (const oldest of same) {
        if (!isForgotten(oldest, one.atMs)) break;
        same.delete(oldest);
      }
      pending.set(key, same.add(one));
      return () => {
        same.delete(one);
        if (same.size === 0 && pending.get(key) === same) pending.delete(key);
      };
    },
    all,
    recent(key, atMs) {
      const same = all(key);
      // Thousands may be pending under one key: no list is made of them.
      for (const one of same) if (isForgotten(one, atMs)) same.delete(one);
      return same;
    },
  };
}
