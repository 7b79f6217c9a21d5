/**
 * What an algorithm does for a store far away: reading its replies, remembering them, leasing units. The memory store
 * needs nothing of it.
 */

/** A view at another instant, and whether the limit refuses then. */
export interface Recalled<V> {
  readonly view: V;
  readonly refused: boolean;
}

/** How units are spent that were charged ahead of their request. */
export interface Leasing<L, V> {
  windowMs(limit: L): number;
  /**
   * Until when units charged at an instant may be spent: later ones would not be what the algorithm promises. Both by
   * the store's clock, ms since the epoch.
   */
  endsAtMs(limit: L, chargedAtMs: number): number;
  /** The view without `units` that were charged at an instant of the store but not spent. */
  without(view: V, limit: L, units: number, chargedAtMs: number): V;
  /**
   * Units that were charged in the bucket of a view's instant and not given back, by everybody. Absent: nobody can
   * know, because units come back while they wait to be spent.
   */
  inBucket?(view: V): number;
}

/**
 * Units of a bucket are leased for at most this part of a window, and at most `MAX_LEASED_MS`: unspent units keep
 * others waiting.
 */
const LEASED_PART = 1 / 20;
const MAX_LEASED_MS = 5_000;

export function leasedMs(windowMs: number): number {
  return Math.min(windowMs * LEASED_PART, MAX_LEASED_MS);
}

/** The part of an algorithm that only a store far away needs; the implementations are beside those of `Algorithm`. */
export interface FarAlgorithm<L, V> {
  /** How many integers the script's view has. */
  viewLength(limit: L): number;
  decode(view: readonly number[], limit: L): V;
  /**
   * What a view that is remembered says of `cost` at a later instant: what the store would say then if nothing was
   * charged meanwhile. Undefined: it cannot be known.
   *
   * @param askedCost the cost with whose answer the view came.
   */
  recall(view: V, limit: L, nowMs: number, askedCost: number, cost: number): Recalled<V> | undefined;
  /** True: when a refused cost is admitted does not depend on what others take until then. Absent: it does. */
  readonly hasFixedWait?: true;
  /** The most units that a limit counts at once, and its window. Absent: it counts no units. */
  capacity?(limit: L): { readonly units: number; readonly windowMs: number };
  /** Absent: units of this algorithm cannot be taken ahead of demand. */
  lease?: Leasing<L, V>;
}
