/**
 * Takes the place of src/features/leases/lease-size.ts while the explorer runs (see replace.ts). There, rates and
 * exponentials say how many units an isolate would like to have. Here it is a choice: the rest of the program must keep
 * its promises for every size, not only for good ones.
 */

import { algorithmOf } from "../../../src/kernel/core/algorithms.ts";
import type { LimitReply } from "../../../src/kernel/core/take.ts";
import type { Lease } from "../../../src/kernel/place/lease.ts";

/** The units ahead of demand that every isolate would like to have, until the next choice. */
export const leaseWish = { units: 0 };

export const memoryMs = (): number => 1;
export const keptPart = (): number => 1;
export const wanted = (_lease: Lease, waiting: number): number => waiting + leaseWish.units;
export const leastWanted = (_lease: Lease, waiting: number): number => waiting;
export const isLow = (_lease: Lease, leased: number, waiting: number): boolean =>
  leaseWish.units > 0 && leased - waiting < 1;
export const mayKeep = (): number => 0;
export const chargedPerMs = (): number => 0;
export const ownPart = (): number => 0;
export const mostUnits = (): number => leaseWish.units;

export function leftBy({ limits }: Lease, replies: readonly LimitReply[], nowMs: number): number {
  const each = limits.map((limit, l) => {
    const recalled = algorithmOf(limit).recall(replies[l]!.view, limit, nowMs, 1, 1);
    return recalled ? algorithmOf(limit).tell(recalled.view, limit, 1, recalled.refused, nowMs).remaining : 0;
  });
  return Math.min(...each);
}
