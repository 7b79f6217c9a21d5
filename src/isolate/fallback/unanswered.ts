/**
 * What this isolate has sent to the store and has no answer to. The store may have charged it: a decision that is made without
 * the store counts it as charged.
 */

import { BoundedMap } from "../../bounded-map.ts";
import type { KeyRequest } from "../../core/take.ts";

const MAX_KEYS = 10_000;
/** Without an end for so long, the request that sent it was ended by the runtime. */
const FORGOTTEN_MS = 10_000;

interface Sent {
  readonly request: KeyRequest;
  /** By the local clock, ms since the epoch. */
  readonly atMs: number;
  /** The isolate's own counters have it already. */
  isCounted: boolean;
}

/** Units and requests without an answer under one key. */
export interface Unanswered {
  readonly request: KeyRequest;
  readonly units: number;
  readonly requests: number;
}

export interface UnansweredRequests {
  /** @param atMs by the local clock, ms since the epoch. @returns ends it: the answer is there, or none will come. */
  begin(keys: readonly KeyRequest[], atMs: number): () => void;
  /** What is unanswered under the keys of a request, without the request itself and without what is counted already. */
  beside(keys: readonly KeyRequest[], atMs: number): readonly Unanswered[];
  /** The isolate's own counters have charged this request. */
  counted(request: KeyRequest): void;
  /** The isolate's own counters of this key were replaced by counts of the store. */
  uncounted(key: string): void;
}

export function trackUnanswered(): UnansweredRequests {
  const sent = new BoundedMap<string, Set<Sent>>({ maxSize: MAX_KEYS });

  return {
    begin(keys, atMs) {
      const begun = keys.map((request) => {
        const one: Sent = { request, atMs, isCounted: false };
        const same = sent.get(request.key) ?? new Set();
        // The oldest first: what nobody ends must not pile up under a busy key.
        for (const old of same) {
          if (Math.abs(atMs - old.atMs) < FORGOTTEN_MS) break;
          same.delete(old);
        }
        sent.set(request.key, same.add(one));
        return () => {
          same.delete(one);
          if (same.size === 0 && sent.get(request.key) === same) sent.delete(request.key);
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
          if (Math.abs(atMs - one.atMs) >= FORGOTTEN_MS) same!.delete(one);
          else if (!one.isCounted && one.request !== request) {
            units += one.request.cost;
            requests++;
          }
        }
        return units > 0 ? [{ request, units, requests }] : [];
      });
    },

    counted(request) {
      for (const one of sent.get(request.key) ?? []) if (one.request === request) one.isCounted = true;
    },

    uncounted(key) {
      for (const one of sent.get(key) ?? []) one.isCounted = false;
    },
  };
}
