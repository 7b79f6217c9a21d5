/** What an isolate holds of one key, what it asks for, and what it is answered: plain data. */

import type { LimitSpec } from "../../core/algorithms.ts";
import type { KeyRequest, LimitReply } from "../../core/take.ts";

/** Instants by the store's clock, ms since the epoch. */
export interface Grant {
  units: number;
  readonly chargedAtMs: number;
  readonly endsAtMs: number;
  /** Until then nobody asks whether they are still needed. */
  reviewedAtMs: number;
}

/** Units that this isolate has charged and not given back, spent or not. Instants by the store's clock, ms since the epoch. */
export interface Charged {
  units: number;
  readonly firstAtMs: number;
  lastAtMs: number;
  /** When those of the first instant end; later ones may be left out of the sum. */
  readonly endsAtMs: number;
}

/** What is held of one key; instants without another word by the local clock. */
export interface Lease {
  readonly key: string;
  readonly limits: readonly LimitSpec[];
  readonly lifeMs: number;
  readonly heldBackForMs: number;
  /** How long the last ask took. */
  askMs: number;
  grants: Grant[];
  /** By which a reset by somebody else is noticed. */
  charged: Charged | undefined;
  /** Reset by this isolate: nothing is held any more, and nothing is given back. */
  isOver: boolean;
  /** The counts that the store told last, everything that is held here charged. */
  replies: readonly LimitReply[] | undefined;
  /** Units asked for recently, each weighing less as it ages: the rate times `lifeMs`. */
  demand: number;
  demandAtMs: number;
  /** Units that the latest request wanted. */
  latest: number;
  /** Units that requests wait for at this moment. */
  waiting: number;
  /** When the ask in flight was sent. */
  askedAtMs: number | undefined;
  heldBackUntilMs: number;
  /** Somebody looks after what is held until then. */
  tendedUntilMs: number;
}

/** What is asked of the store for one key. */
export interface LeaseAsk {
  readonly lease: Lease;
  /** Its cost: what the request that asks needs, and the units to hold. */
  readonly key: KeyRequest;
  /** Units for the request that asks, and units to hold. */
  readonly own: number;
  readonly extra: number;
  /** Taken out of what is held, for the request that asks. */
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
  /** When, by the store's clock. */
  readonly nowMs: number;
  /** The request is not admitted by it: what was charged for it is held instead. */
  readonly late: boolean;
}
