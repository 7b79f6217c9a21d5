/** From what a reservation was charged and what it has used to what becomes of each charge. */

import { algorithmOf } from "../core/algorithms.ts";
import { withoutSlots } from "../core/concurrency.ts";
import { MAX_UNITS } from "../core/layout.ts";
import { groupBy } from "../group-by.ts";
import type { Background, Change, Charge } from "../place/taker.ts";

/** What one place has charged under one key of a policy, in one bucket of each of its limits. */
export interface BookedCharge {
  readonly policy: string;
  readonly charge: Charge;
}

/** Adds a charge. A long stream has thousands of extensions: those of the same buckets become one. */
export function addCharge(all: BookedCharge[], added: BookedCharge): void {
  const at = all.findIndex(({ charge }) => areSameBuckets(charge, added.charge));
  const known = all[at];
  if (!known) {
    all.push(added);
    return;
  }
  const { receipt } = known.charge;
  const cost = Math.min(MAX_UNITS, receipt.cost + added.charge.receipt.cost);
  all[at] = { ...known, charge: { ...known.charge, receipt: { ...receipt, cost } } };
}

/**
 * Settles what was charged.
 *
 * @param unusedOf what a policy gets back; negative: what it is charged. @param frees whether slots go back too.
 */
export async function settleCharges(
  charges: readonly BookedCharge[],
  unusedOf: (policy: string) => number,
  background: Background | undefined,
  frees = true,
): Promise<void> {
  /** What each key still gets back. */
  const unused = new Map<string, number>();
  // The newest first: what was charged last leaves its window last.
  const changes = charges.toReversed().map(({ policy, charge }): Change => {
    const { key, cost } = charge.receipt;
    const left = unused.get(key) ?? unusedOf(policy);
    const back = Math.min(left, cost);
    unused.set(key, Math.max(0, left - back));
    // An extension holds no slots.
    return { charge, back, frees: frees && charge.slot !== 0 };
  });
  const wanted = changes.filter(({ back, frees }) => back !== 0 || frees);
  const settled = groupBy(wanted, ({ charge }) => charge.by).map(([by, own]) => by.settle(own, { background }));
  await Promise.all(settled);
}

/** Whether two charges are of the same key and of the same buckets. The slots of a key are only in its first charge. */
function areSameBuckets(one: Charge, other: Charge): boolean {
  if (one.by !== other.by || one.receipt.key !== other.receipt.key) return false;
  const [buckets, others] = [bucketsOf(one), bucketsOf(other)];
  return buckets.length === others.length && buckets.every((bucket, l) => bucket === others[l]);
}

function bucketsOf({ receipt: { limits, atMs } }: Charge): number[] {
  return withoutSlots(limits).map((limit) => algorithmOf(limit).bucketAt(limit, limit.atMs ?? atMs));
}
