/**
 * What this isolate has sent to the store without an answer yet. The store may have charged it, so decisions without
 * the store count it as charged.
 */

import type { KeyRequest } from "../../core/take.ts";
import { createPending } from "../pending.ts";

/**
 * An answer comes within two budgets of a call. If it has not come this long after them, in ms, it never will: the
 * runtime has ended the request that waited for it.
 */
const FORGOTTEN_MS = 10_000;

/** The request for which a call is made. */
export interface Caller {
  /** The key as the request itself names it: the same object. */
  readonly key: KeyRequest;
  /** The units of the call that the request itself needs. A lease asks for more, to have units in stock. */
  readonly needed: number;
}

interface Sent {
  readonly units: number;
  /** The caller's key, and the units that the caller needs. */
  readonly caller: KeyRequest;
  readonly needed: number;
  /** The instant of the call by the local clock, in ms since the epoch. */
  readonly atMs: number;
  /** Whether the isolate's own counters have charged what the caller needs. */
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
   * @param atMs by the local clock, in ms since the epoch. @param callers one for each key. Default: the keys, with all
   * their units.
   * @returns a function to call when the answer has come, or when no answer will come.
   */
  begin(keys: readonly KeyRequest[], atMs: number, callers?: readonly Caller[]): () => void;
  /**
   * What is unanswered under the keys of a request, without the request's own units and without units that are counted
   * already.
   */
  beside(keys: readonly KeyRequest[], atMs: number): readonly Unanswered[];
  /** Notes that the isolate's own counters have charged this request. */
  counted(request: KeyRequest): void;
  /** Notes that counts of the store have replaced the isolate's own counters of this key. */
  uncounted(key: string): void;
}

/** @param budgetMs the time budget of one call to the store, in milliseconds. */
export function trackUnanswered(budgetMs = 0): UnansweredRequests {
  const sent = createPending<Sent>(2 * budgetMs + FORGOTTEN_MS);

  return {
    begin(keys, atMs, callers) {
      const begun = keys.map((key, k) => {
        const { key: caller, needed } = callers?.[k] ?? { key, needed: key.cost };
        return sent.begin(key.key, { units: key.cost, caller, needed, atMs, isCounted: false });
      });
      return () => {
        for (const end of begun) end();
      };
    },

    beside(keys, atMs) {
      return keys.flatMap((request): Unanswered[] => {
        let [units, requests] = [0, 0];
        for (const one of sent.recent(request.key, atMs)) {
          const others = one.units - (one.isCounted || one.caller === request ? one.needed : 0);
          if (others <= 0) continue;
          units += others;
          requests++;
        }
        return units > 0 ? [{ request, units, requests }] : [];
      });
    },

    counted(request) {
      for (const one of sent.all(request.key)) if (one.caller === request) one.isCounted = true;
    },

    uncounted(key) {
      for (const one of sent.all(key)) one.isCounted = false;
    },
  };
}
