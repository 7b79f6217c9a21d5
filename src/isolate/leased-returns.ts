/** Which leased units go back to the store, and when to look again. */

import { ENFORCED, type KeyRequest, type LimitReply } from "../core/take.ts";
import type { LeasedUnits } from "./lease.ts";
import { mayKeep, wanted } from "./lease-size.ts";
import { endUnits, numberedLease, sumOf, wasResetElsewhere } from "./leases.ts";
import { keep, type Memory, noteUnits, recordOf } from "./memory.ts";
import { unitsWaiting } from "./pending.ts";
import { storeTimeAt } from "./store-clock.ts";

/** Units to return to the buckets in which they were charged, in one call. */
export interface Unused {
  readonly key: KeyRequest;
  readonly bucketAtMs: number;
}

/** The leases of these keys with units that nobody returns at present. */
export function unreturnedLeases(
  memory: Memory,
  keys: readonly KeyRequest[],
  localAtMs: number,
): { readonly key: string; readonly lease: number }[] {
  const found: { key: string; lease: number }[] = [];
  for (const { key } of keys) {
    for (const { number, units, returnsUntilMs } of recordOf(memory, key)?.leases ?? []) {
      if (units.length > 0 && returnsUntilMs <= localAtMs) found.push({ key, lease: number });
    }
  }
  return found;
}

/** Milliseconds until the next check for unused units. undefined: no units are leased, or nobody knows the lease. */
export function reviewAfterMs(memory: Memory, key: string, lease: number, localAtMs: number): number | undefined {
  const units = numberedLease(memory, key, lease)?.lease.units ?? [];
  if (units.length === 0) return undefined;
  const atMs = storeTimeAt(memory.clock, localAtMs)?.latestMs;
  if (atMs === undefined) return 0;
  const next = Math.min(...units.map(({ endsAtMs, reviewedAtMs }) => Math.min(endsAtMs, reviewedAtMs)));
  return Math.max(0, next - atMs);
}

/** The background of a request returns the unused units of a lease until this instant. 0: no longer. */
export function noteReturning(memory: Memory, key: string, lease: number, untilMs: number): void {
  const found = numberedLease(memory, key, lease)?.lease;
  if (found) found.returnsUntilMs = untilMs && Math.max(found.returnsUntilMs, untilMs);
}

/** Takes leased units out that no request will need soon, from at most `buckets` buckets. */
export function takeUnused(
  memory: Memory,
  key: string,
  number: number,
  localAtMs: number,
  buckets: number,
): readonly Unused[] {
  const found = numberedLease(memory, key, number);
  if (!found) return [];
  const { record, lease } = found;
  const time = storeTimeAt(memory.clock, localAtMs);
  const atMs = time?.latestMs ?? Number.POSITIVE_INFINITY;
  const kept: LeasedUnits[] = [];
  // Units that end at the same instant were charged in the same buckets.
  const unused = new Map<number, { units: number; bucketAtMs: number }>();
  let needed = wanted(lease, unitsWaiting(record, number, localAtMs), localAtMs, time?.earliestMs);
  const areKept = sumOf(lease.units) - needed <= mayKeep(lease, localAtMs);
  for (const one of lease.units) {
    const { units, chargedAtMs, bucketAtMs, endsAtMs } = one;
    const bucket = unused.get(endsAtMs) ?? { units: 0, bucketAtMs };
    const isDue = Math.min(endsAtMs, one.reviewedAtMs) <= atMs && (unused.has(endsAtMs) || unused.size < buckets);
    const needs = areKept ? units : Math.min(units, Math.max(0, needed));
    const keeps = !isDue ? units : endsAtMs <= atMs ? 0 : needs;
    needed -= keeps;
    const reviewedAtMs = isDue ? atMs + lease.lifeMs : one.reviewedAtMs;
    if (keeps > 0) kept.push({ ...one, units: keeps, reviewedAtMs });
    if (keeps === units) continue;
    bucket.units += units - keeps;
    unused.set(endsAtMs, bucket);
    if (lease.charged && chargedAtMs >= lease.charged.firstAtMs) lease.charged.units -= units - keeps;
  }
  lease.units = kept;
  keep(memory, record);
  return [...unused.values()].map(({ units, bucketAtMs }) => {
    return { key: { key, group: ENFORCED, cost: units, limits: lease.limits }, bucketAtMs };
  });
}

/** Units were returned. @param replies to the key, which may show that another isolate has reset it. */
export function bookReturn(
  memory: Memory,
  { key, cost }: KeyRequest,
  lease: number,
  replies: readonly LimitReply[],
  nowMs: number,
): void {
  noteUnits(memory, key, "returned", cost);
  const found = numberedLease(memory, key, lease);
  if (found && wasResetElsewhere(found.lease, 0, replies, nowMs)) endUnits(memory, found, nowMs);
}
