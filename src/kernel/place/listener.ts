/** What the parts of an isolate tell about themselves, for metrics. */

import type { StoreErrorCode } from "../store/store.ts";

/**
 * What became of leased units. `granted`: the store has charged them, for the request that asked and for later ones.
 * `spent`: a request used them. `returned`: the store has them back. `lapsed`: they were lost, by a reset or because
 * the store did not answer.
 */
export type LeaseEvent = "granted" | "spent" | "returned" | "lapsed";

/** Listens to one place. Nothing waits for it, and it must not throw. */
export interface IsolateListener {
  /** A call has ended: with a reply, or with the reason for none. `OPEN`: the breaker did not let it out. */
  storeCall(outcome: "OK" | StoreErrorCode, ms: number): void;
  /** @param units negative: they were told before, and it did not happen. */
  leaseUnits(key: string, event: LeaseEvent, units: number): void;
}

/** Makes the listener of a place, by its position among the places of the store. */
export type ListenerOf = (place: number) => IsolateListener;
