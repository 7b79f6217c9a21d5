/**
 * A lease: the units of one key that an isolate has in stock, and what it knows of the demand. Plain data; leases.ts
 * alone writes it.
 */

import type { LimitSpec } from "../../core/algorithms.ts";
import type { KeyRequest, LimitReply } from "../../core/take.ts";

/** Units in stock that were charged together. Instants by the store's clock, ms since the epoch. */
export interface Grant {
  readonly units: number;
  readonly chargedAtMs: number;
  readonly endsAtMs: number;
  /** The next time to see whether the units are still needed. */
  readonly reviewedAtMs: number;
}

/**
 * Units that this isolate has charged and not given back, spent or not. Instants by the store's clock, ms since the
 * epoch.
 */
export interface Charged {
  readonly units: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** When the units of the first instant end. Units of later instants may be left out of the sum. */
  readonly endsAtMs: number;
}

/** The lease of one key. Instants by the local clock, ms since the epoch, unless another clock is named. */
export interface Lease {
  readonly key: string;
  readonly limits: readonly LimitSpec[];
  readonly lifeMs: number;
  /** How long nothing is asked for after a short grant. */
  readonly pauseMs: number;
  /** How long the last call took. */
  readonly callMs: number;
  readonly grants: readonly Grant[];
  /** A reset by another isolate is noticed by it. */
  readonly charged: Charged | undefined;
  /** Units that were charged up to this instant of the store are worth nothing: another isolate has reset the key. */
  readonly worthlessToMs: number;
  /** Reset by this isolate: nothing is in stock any more, and nothing is given back. */
  readonly isOver: boolean;
  /**
   * The reply to the last call of this lease, the very object that the store told. All units in stock are charged in
   * it.
   */
  readonly replies: readonly LimitReply[] | undefined;
  /** Units asked for recently, each weighing less as it ages: the rate times `lifeMs`. */
  readonly demand: number;
  readonly demandAtMs: number;
  /** Units that the latest request needs. */
  readonly latest: number;
  /** Units that requests wait for at this moment. */
  readonly waiting: number;
  /** When the call in flight was made. */
  readonly calledAtMs: number | undefined;
  readonly pausedUntilMs: number;
  /** Until then the background of a request gives back unused units. */
  readonly tendedUntilMs: number;
}

/** What one lease asks of the store: units for the request that calls, and units for the stock. */
export interface LeaseRequest {
  readonly lease: Lease;
  /** As the request that calls names it. */
  readonly caller: KeyRequest;
  /** As the store is asked. Its cost: `needed` and `forStock`. */
  readonly key: KeyRequest;
  /** Units for the request that calls. */
  readonly needed: number;
  /** Units to have in stock. */
  readonly forStock: number;
  /** Taken out of the stock for the request that calls. */
  readonly reserved: readonly Grant[];
  /** Fewer than the demand would need. */
  readonly isShort: boolean;
}

/** Units to give back to the bucket that they were charged in. */
export interface Unused {
  readonly units: number;
  readonly chargedAtMs: number;
}

export interface LeaseAnswer {
  readonly allowed: boolean;
  /** When the store decided, by its clock. */
  readonly nowMs: number;
  /** Too late for the request that called: what was charged for it goes into the stock. */
  readonly late: boolean;
}
