/**
 * What an algorithm does for a store that is far away: it reads replies, remembers them and leases units. The memory
 * store needs nothing of this file.
 */

/** A view at another instant, and whether the limit refuses at that instant. */
interface Recalled<V> {
  readonly view: V;
  readonly refused: boolean;
}

/** How to spend units that were charged ahead of their request. */
interface Leasing<L, V> {
  windowMs(limit: L): number;
  /**
   * Until when units charged at an instant may be spent. Spending them later would break the algorithm's promise. Both
   * instants are by the store's clock, in ms since the epoch.
   */
  endsAtMs(limit: L, chargedAtMs: number): number;
  /** The view without `units` that were charged at this instant of the store and not spent. */
  without(view: V, limit: L, units: number, chargedAtMs: number): V;
  /**
   * The units that everybody has charged, and not given back, in the bucket of the view's instant. Absent if nobody can
   * know: units come back while they wait to be spent.
   */
  inBucket?(view: V): number;
}

/**
 * Units of a bucket are leased for at most this part of a window, and for at most `MAX_LEASED_MS`: unspent units keep
 * other isolates waiting.
 */
const LEASED_PART = 1 / 20;
const MAX_LEASED_MS = 5_000;

export function leasedMs(windowMs: number): number {
  return Math.min(windowMs * LEASED_PART, MAX_LEASED_MS);
}

/** The part of an algorithm for a store that is far away. Each implementation is beside that of `Algorithm`. */
export interface FarAlgorithm<L, V> {
  /** The number of integers in the script's view. */
  viewLength(limit: L): number;
  decode(view: readonly number[], limit: L): V;
  /**
   * What a remembered view says about `cost` at a later instant: what the store would say then if nothing was charged
   * in between. undefined: nobody can know.
   *
   * @param askedCost the cost of the request whose reply the view is.
   */
  recall(view: V, limit: L, nowMs: number, askedCost: number, cost: number): Recalled<V> | undefined;
  /** True: the instant at which a refused cost is admitted does not depend on other requests. Absent: it does. */
  readonly hasFixedWait?: true;
  /** The most units that a limit can count at once, and its window. Absent: the algorithm counts no units. */
  capacity?(limit: L): { readonly units: number; readonly windowMs: number };
  /** Absent: units of this algorithm cannot be leased. */
  lease?: Leasing<L, V>;
}
