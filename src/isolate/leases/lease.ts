/**
 * A lease: the units of one key that an isolate has in stock, and what it knows about the demand. Plain data. Only
 * leases.ts writes it.
 */

import type { LimitSpec } from "../../core/algorithms.ts";
import type { KeyRequest, LimitReply } from "../../core/take.ts";

/** Units in stock that were charged together. Instants are by the store's clock, in ms since the epoch. */
export interface Grant {
  readonly units: number;
  readonly chargedAtMs: number;
  /** An instant of the buckets that were charged. Later than `chargedAtMs` if the store's clock had stepped back. */
  readonly bucketAtMs: number;
  readonly endsAtMs: number;
  /** When to check again whether the units are still needed. */
  readonly reviewedAtMs: number;
}

/**
 * Units that this isolate has charged and not given back, spent or not. Instants are by the store's clock, in ms since
 * the epoch.
 */
export interface Charged {
  readonly units: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** When the units of the first instant end. The sum may leave out units of later instants. */
  readonly endsAtMs: number;
}

/** The lease of one key. Instants are by the local clock, in ms since the epoch, unless another clock is named. */
export interface Lease {
  readonly key: string;
  readonly limits: readonly LimitSpec[];
  readonly lifeMs: number;
  /** The most units of one stock. */
  readonly mostUnits: number;
  /** How long the isolate asks for nothing after a short grant. */
  readonly pauseMs: number;
  /** How long the last call took. */
  readonly callMs: number;
  readonly grants: readonly Grant[];
  /** If the store reports fewer units than these, another isolate has reset the key. */
  readonly charged: Charged | undefined;
  /** Units that were charged up to this instant of the store are worth nothing: another isolate has reset the key. */
  readonly worthlessToMs: number;
  /** How many resets this isolate had made when the lease began. After a later reset of its key nothing counts. */
  readonly sinceReset: number;
  /**
   * The newest reply to a call of this lease, the same object that the store's reply holds. It includes all units in
   * stock.
   */
  readonly replies: readonly LimitReply[] | undefined;
  /** When the store decided this reply, by the store's clock. */
  readonly repliedAtMs: number;
  /** The units that were left at `repliedAtMs`. */
  readonly left: number;
  /** The units per ms that all isolates charge. */
  readonly chargedPerMs: number;
  /** The part of what all have charged in the present bucket that this isolate has charged. 0: not known. */
  readonly ownPart: number;
  /** Recent demand in units, weighing less as it ages. */
  readonly demand: number;
  readonly demandAtMs: number;
  /** Recent requests, weighing less as they age. */
  readonly requests: number;
  /** The time in which that demand came, in ms, weighing less as it ages. */
  readonly seenMs: number;
  /** The units that the latest request needs. */
  readonly latest: number;
  /** The units that requests wait for at this moment. */
  readonly waiting: number;
  /** When the call in flight was made. */
  readonly calledAtMs: number | undefined;
  readonly pausedUntilMs: number;
  /** Until this instant the background of some request gives unused units back. */
  readonly tendedUntilMs: number;
}

/** What one lease asks the store for: units for the calling request, and units for the stock. */
export interface LeaseRequest {
  readonly lease: Lease;
  /** The key as the calling request names it. */
  readonly caller: KeyRequest;
  /** The key as the store is asked. Its cost is `needed` + `forStock`. */
  readonly key: KeyRequest;
  /** Units for the calling request. */
  readonly needed: number;
  /** Units to have in stock. */
  readonly forStock: number;
  /** Units taken out of the stock for the calling request. */
  readonly reserved: readonly Grant[];
  /** Whether fewer units are asked for than the demand needs. */
  readonly isShort: boolean;
}

/** Units to give back to the buckets in which they were charged. */
export interface Unused {
  readonly units: number;
  readonly bucketAtMs: number;
}

export interface LeaseAnswer {
  readonly allowed: boolean;
  /** When the store decided, by its clock. */
  readonly nowMs: number;
  /** Too late for the calling request: its units go into the stock. */
  readonly late: boolean;
}
