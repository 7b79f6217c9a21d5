/**
 * What this isolate has sent to the store and has no answer to. The store may have charged it: a decision that is made
 * without the store counts it as charged.
 */

import { BoundedMap } from "../../bounded-map.ts";
import type { KeyRequest } from "../../core/take.ts";

const MAX_KEYS = 10_000;
/**
 * An answer comes within two budgets of a call. After this long beyond them, in milliseconds, none will come: the
 * runtime has ended the request that waited for it.
 */
const FORGOTTEN_MS = 10_000;

/** The request that a call is made for. */
export interface Caller {
  /** As the request itself names the key: the very object. */
  readonly key: KeyRequest;
  /** Units of the call that the request needs itself. A lease asks for more, to have them in stock. */
  readonly needed: number;
}

interface Sent {
  readonly units: number;
  /** The key of the caller, and what it needs of the units. */
  readonly caller: KeyRequest;
  readonly needed: number;
  /** By the local clock, ms since the epoch. */
  readonly atMs: number;
  /** The isolate's own counters have charged what the caller needs. */
  isCounted: boolean;
}

/** Units and requests without an answer under one key. */
export interface Unanswered {
  readonly request: KeyRequest;
  readonly units: number;
  readonly requests: number;
}

export interface UnansweredRequests {
  /**
   * @param atMs by the local clock, ms since the epoch. @param callers one for each key. Default: the keys, with all
   * their units.
   * @returns ends it: the answer is there, or none will come.
   */
  begin(keys: readonly KeyRequest[], atMs: number, callers?: readonly Caller[]): () => void;
  /**
   * What is unanswered under the keys of a request, without what the request needs itself and without what is counted
   * already.
   */
  beside(keys: readonly KeyRequest[], atMs: number): readonly Unanswered[];
  /** The isolate's own counters have charged this request. */
  counted(request: KeyRequest): void;
  /** The isolate's own counters of this key were replaced by counts of the store. */
  uncounted(key: string): void;
}

/** @param budgetMs of one call to the store, in milliseconds. */
export function trackUnanswered(budgetMs = 0): UnansweredRequests {
  const sent = new BoundedMap<string, Set<Sent>>({ maxSize: MAX_KEYS });
  const forgottenMs = 2 * budgetMs + FORGOTTEN_MS;

  return {
    begin(keys, atMs, callers) {
      const begun = keys.map((key, k) => {
        const { cost } = key;
        const one: Sent = {
          units: cost,
          caller: callers?.[k]?.key ?? key,
          needed: callers?.[k]?.needed ?? cost,
          atMs,
          isCounted: false,
        };
        const same = sent.get(key.key) ?? new Set();
        // The oldest first: requests that were never ended must not pile up under a busy key.
        for (const old of same) {
          if (Math.abs(atMs - old.atMs) < forgottenMs) break;
          same.delete(old);
        }
        sent.set(key.key, same.add(one));
        return () => {
          same.delete(one);
          if (same.size === 0 && sent.get(key.key) === same) sent.delete(key.key);
        };
      });
      return () => {
        for (const end of begun) end();
      };
    },

    beside(keys, atMs) {
      return keys.flatMap((request): Unanswered[] => {
        const same = sent.get(request.key);
        let [units, requests] = [0, 0];
        for (const one of same ?? []) {
          if (Math.abs(atMs - one.atMs) >= forgottenMs) {
            same!.delete(one);
            continue;
          }
          const others = one.units - (one.isCounted || one.caller === request ? one.needed : 0);
          if (others <= 0) continue;
          units += others;
          requests++;
        }
        return units > 0 ? [{ request, units, requests }] : [];
      });
    },

    counted(request) {
      for (const one of sent.get(request.key) ?? []) if (one.caller === request) one.isCounted = true;
    },

    uncounted(key) {
      for (const one of sent.get(key) ?? []) one.isCounted = false;
    },
  };
}
