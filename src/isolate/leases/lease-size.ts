/**
 * How many units of a key an isolate should have in stock, and when to ask for more. Enough that few requests wait, and
 * not more: units in stock cannot be spent elsewhere. Pure.
 *
 * The numbers were found by simulation (npm run simulate; docs/consistency.md).
 */

import { algorithmOf } from "../../core/algorithms.ts";
import { farAlgorithmOf } from "../../core/far-algorithms.ts";
import type { Lease } from "./lease.ts";

/** If plenty remains, the stock lasts for this part of a lease's life, plus the time until more units arrive. */
const STOCKED_PART = 1.2;
/** The same if nearly nothing remains. */
const SCARCE_PART = 0.2;
/** Plenty: as much as the limit gives in this part of a lease's life. Other isolates need some of it too. */
const PLENTY_PART = 0.8;
/**
 * Ask for more when the stock would run out before the answer arrives, or when less than this part of the stock is
 * left.
 */
const RENEWED_BELOW = 0.25;

/**
 * How many units should be in stock. @param nowMs the earliest instant that the store's clock may show. undefined: not
 * known.
 */
export function wanted(lease: Lease, localAtMs: number, nowMs: number | undefined): number {
  const ageMs = Math.max(0, localAtMs - lease.demandAtMs);
  const demand = lease.demand * Math.exp(-ageMs / lease.lifeMs) - lease.latest;
  if (demand < 1) return lease.waiting;
  // A waiting demand may have been one burst: the larger its part, the less it tells about the demand to come.
  const coming = (demand * demand) / (demand + lease.waiting);
  const plenty = left(lease, nowMs).lives / PLENTY_PART;
  const part = Math.min(STOCKED_PART, Math.max(SCARCE_PART, STOCKED_PART * plenty ** 2));
  return lease.waiting + Math.floor(spentMeanwhile(lease, coming) + coming * part);
}

/** How many units should be in stock if nearly nothing remains. */
export function leastWanted(lease: Lease): number {
  return lease.waiting + spentMeanwhile(lease, lease.demand) + lease.demand * SCARCE_PART;
}

/** Whether it is time to ask for more, because few units are in stock. The other parameters are those of `wanted`. */
export function isLow(lease: Lease, inStock: number, localAtMs: number, nowMs: number | undefined): boolean {
  const free = inStock - lease.waiting;
  const meanwhile = spentMeanwhile(lease, lease.demand);
  // Nearly every request ends here, because a full stock is at most this large.
  if (free >= Math.max(meanwhile, (meanwhile + lease.demand * STOCKED_PART) * RENEWED_BELOW)) return false;
  const target = wanted(lease, localAtMs, nowMs);
  return target >= 2 && free < Math.max(meanwhile, (target - lease.waiting) * RENEWED_BELOW);
}

/** The remaining units by the last counts. @param nowMs as for `wanted`. */
export function remaining(lease: Lease, nowMs: number | undefined): number {
  return left(lease, nowMs).units;
}

/** How many units will be spent during a call. Small numbers vary more (Poisson: by their square root). */
function spentMeanwhile({ callMs, lifeMs }: Lease, demand: number): number {
  const mean = demand * Math.min(1, callMs / lifeMs);
  return mean + Math.sqrt(mean);
}

/** What remains: in units, and in lives of a lease during which the limit gives as much. */
function left({ limits, replies, lifeMs }: Lease, nowMs: number | undefined): { units: number; lives: number } {
  if (!replies || nowMs === undefined) return { units: 0, lives: 0 };
  const each = limits.map((limit, l) => {
    const { recall, lease } = farAlgorithmOf(limit);
    const recalled = recall(replies[l]!.view, limit, nowMs, 1, 1);
    const units = recalled ? algorithmOf(limit).tell(recalled.view, limit, 1, recalled.refused, nowMs).remaining : 0;
    return { units, lives: (units / limit.limit) * (lease!.windowMs(limit) / lifeMs) };
  });
  return {
    units: Math.min(...each.map(({ units }) => units)),
    lives: Math.min(...each.map(({ lives }) => lives)),
  };
}
