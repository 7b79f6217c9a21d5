/**
 * A lease: units of one key that the store has charged to this isolate ahead of demand, and what the isolate knows
 * about the demand. Plain data.
 */

import type { LimitSpec } from "../core/algorithms.ts";
import type { LimitReply } from "../core/take.ts";

/** A lease, by its number. */
export interface LeaseName {
  readonly key: string;
  readonly lease: number;
}

/** Leased units that were charged together. Instants are by the store's clock, in ms since the epoch. */
export interface LeasedUnits {
  units: number;
  readonly chargedAtMs: number;
  /** An instant of the buckets that were charged. Later than `chargedAtMs` if the store's clock had stepped back. */
  readonly bucketAtMs: number;
  readonly endsAtMs: number;
  /** When to check again whether the units are still needed. */
  readonly reviewedAtMs: number;
}

/** Units that this isolate has charged and not returned, spent or not. Instants are by the store's clock. */
interface Charged {
  units: number;
  readonly firstAtMs: number;
  lastAtMs: number;
  /** When the units of the first instant end. The sum may leave out units of later instants. */
  readonly endsAtMs: number;
}

/** What a lease has asked the store for in one call: units for the calling request, and units to lease. */
export interface Ask {
  /** When the call was made, by the local clock, in ms since the epoch. */
  readonly atMs: number;
  /** Units for the calling request. */
  readonly needed: number;
  /** Units to lease. */
  readonly ahead: number;
  /** Leased units that were taken out for the calling request. */
  reserved: readonly LeasedUnits[];
  /** Whether fewer units are asked for than the demand needs. */
  readonly isShort: boolean;
  /** The time budget has ended. The answer may still come. */
  isLate: boolean;
}

/** The lease of one key and of the numbers of its limits. Instants are by the local clock, unless another is named. */
export interface Lease {
  readonly number: number;
  readonly limits: readonly LimitSpec[];
  readonly lifeMs: number;
  /** The most units that are leased at once. */
  readonly mostUnits: number;
  /** How long the isolate asks for nothing after it got too few units. */
  readonly pauseMs: number;
  /** How long the last call took. */
  callMs: number;
  units: LeasedUnits[];
  /** If the store reports fewer units than these, another isolate has reset the key. */
  charged: Charged | undefined;
  /** Units that were charged up to this instant of the store are worth nothing: another isolate has reset the key. */
  worthlessToMs: number;
  /**
   * The newest reply to a call of this lease, the same object that the store's reply holds. It includes all leased
   * units.
   */
  replies: readonly LimitReply[] | undefined;
  /** When the store decided this reply, by the store's clock. */
  repliedAtMs: number;
  /** The units that were left at `repliedAtMs`. */
  left: number;
  /** The units per ms that all isolates charge. */
  chargedPerMs: number;
  /** The part of what all have charged in the present bucket that this isolate has charged. 0: not known. */
  ownPart: number;
  /** Recent demand in units, weighing less as it ages. */
  demand: number;
  demandAtMs: number;
  /** Recent requests, weighing less as they age. */
  requests: number;
  /** The time in which that demand came, in ms, weighing less as it ages. */
  seenMs: number;
  /** The units that the latest request needs. */
  latest: number;
  /** By the number of the call. undefined: nothing is on its way. */
  asks: Map<number, Ask> | undefined;
  pausedUntilMs: number;
  /** Until this instant the background of some request returns unused units. */
  returnsUntilMs: number;
}
