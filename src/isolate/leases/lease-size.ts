/**
 * How many units an isolate should hold of a key, and when it is time for more: enough that few requests wait, and no more, since
 * what lies here cannot be spent elsewhere. Pure.
 *
 * The numbers were found by simulation (npm run simulate; docs/consistency.md).
 */

import { algorithmOf } from "../../core/algorithms.ts";
import { farAlgorithmOf } from "../../core/far-algorithms.ts";
import type { Lease } from "./lease.ts";

/** Beside what comes until more is there, what is held should last for this part of a lease's life, if there is plenty. */
const HELD_PART = 1.2;
/** If there is nearly nothing. */
const SCARCE_PART = 0.2;
/** There is plenty if what the limit gives in this part of a lease's life remains; others want some of it too. */
const PLENTY_PART = 0.8;
/** More is asked for when no more is left than will be spent until it is there, and not below this part of what should be held. */
const RENEWED_BELOW = 0.25;

/** How many units should be held. @param nowMs of the store, the earliest that it may be there; undefined: not known. */
export function wanted(lease: Lease, localAtMs: number, nowMs: number | undefined): number {
  const ageMs = Math.max(0, localAtMs - lease.demandAtMs);
  const demand = lease.demand * Math.exp(-ageMs / lease.lifeMs) - lease.latest;
  if (demand < 1) return lease.waiting;
  // The more of it is waiting already, the less it says of what will come: it may have been one burst.
  const coming = (demand * demand) / (demand + lease.waiting);
  const plenty = left(lease, nowMs).lives / PLENTY_PART;
  const part = Math.min(HELD_PART, Math.max(SCARCE_PART, HELD_PART * plenty ** 2));
  return lease.waiting + Math.floor(spentMeanwhile(lease, coming) + coming * part);
}

/** How many units should be held if there is nearly nothing. */
export function leastWanted(lease: Lease): number {
  return lease.waiting + spentMeanwhile(lease, lease.demand) + lease.demand * SCARCE_PART;
}

/** Whether so few units are held that it is time to ask for more. The other parameters are those of `wanted`. */
export function isLow(lease: Lease, held: number, localAtMs: number, nowMs: number | undefined): boolean {
  const free = held - lease.waiting;
  const meanwhile = spentMeanwhile(lease, lease.demand);
  // Nearly every request ends here: what should be held is at most this much.
  if (free >= Math.max(meanwhile, (meanwhile + lease.demand * HELD_PART) * RENEWED_BELOW)) return false;
  const target = wanted(lease, localAtMs, nowMs);
  return target >= 2 && free < Math.max(meanwhile, (target - lease.waiting) * RENEWED_BELOW);
}

/** Units that the counts leave. @param nowMs as for `wanted`. */
export function remaining(lease: Lease, nowMs: number | undefined): number {
  return left(lease, nowMs).units;
}

/** How many units will be spent while an ask is on its way; few of them vary more (Poisson: by their square root). */
function spentMeanwhile({ askMs, lifeMs }: Lease, demand: number): number {
  const mean = demand * Math.min(1, askMs / lifeMs);
  return mean + Math.sqrt(mean);
}

/** What the counts leave: in units, and in lives of a lease in which the limit gives as much. */
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
