/** Which leased units go back to the store, and when to look again. */

import { ENFORCED, type KeyRequest, type LimitReply, type Receipt } from "../../kernel/core/take.ts";
import type { LeasedUnits, LeaseName } from "../../kernel/place/lease.ts";
import { keep, type Memory, noteUnits, recordOf } from "../../kernel/place/memory.ts";
import { unitsWaiting } from "../../kernel/place/pending.ts";
import type { Now } from "../../kernel/place/store-clock.ts";
import { mayKeep, wanted } from "./lease-size.ts";
import { endIfReset, hasUnreturned, numberedLease, sumOf } from "./leases.ts";

/** Units to return to the buckets in which they were charged, in one call. */
export interface Unused {
  readonly key: KeyRequest;
  readonly units: LeasedUnits;
}

/** The leases of these keys with units that nobody returns at present. */
export function unreturnedLeases(memory: Memory, keys: readonly KeyRequest[], now: Now): LeaseName[] {
  return keys.flatMap(({ key }) => {
    const leases = recordOf(memory, key)?.leases ?? [];
    return leases.filter((one) => hasUnreturned(one, now)).map(({ number }) => ({ key, lease: number }));
  });
}

/** The leases of all keys with units to check now, which no background of a request will. */
export function dueLeases(memory: Memory, now: Now): LeaseName[] {
  return [...memory.leased].flatMap((key) => {
    // Looking at a record this way does not keep it.
    const leases = memory.records.get(key)?.leases?.filter(({ units }) => units.length > 0) ?? [];
    if (leases.length === 0) memory.leased.delete(key);
    const names = leases.filter((one) => hasUnreturned(one, now)).map(({ number }) => ({ key, lease: number }));
    return names.filter((name) => reviewAfterMs(memory, name, now) === 0);
  });
}

/** Milliseconds until the next check for unused units. undefined: no units are leased, or nobody knows the lease. */
export function reviewAfterMs(memory: Memory, name: LeaseName, { latestMs }: Now): number | undefined {
  const units = numberedLease(memory, name)?.lease.units ?? [];
  if (units.length === 0) return undefined;
  const next = Math.min(...units.map(({ endsAtMs, reviewedAtMs }) => Math.min(endsAtMs, reviewedAtMs)));
  return Math.max(0, next - latestMs);
}

/** The background of a request returns the unused units of a lease until this instant. 0: no longer. */
export function noteReturning(memory: Memory, name: LeaseName, untilMs: number): void {
  const found = numberedLease(memory, name)?.lease;
  if (found) found.returnsUntilMs = untilMs && Math.max(found.returnsUntilMs, untilMs);
}

/** Takes leased units out that no request will need soon, from at most `buckets` buckets. */
export function takeUnused(memory: Memory, name: LeaseName, now: Now, buckets: number): Unused[] {
  const found = numberedLease(memory, name);
  if (!found) return [];
  const { key, record, lease } = found;
  const kept: LeasedUnits[] = [];
  // Units that end at the same instant were charged in the same buckets.
  const unused = new Map<number, LeasedUnits>();
  let needed = wanted(lease, unitsWaiting(record, lease.number, now.localAtMs), now);
  const areKept = sumOf(lease.units) - needed <= mayKeep(lease, now.localAtMs);
  for (const one of lease.units) {
    const { units, chargedAtMs, endsAtMs } = one;
    const bucket = unused.get(endsAtMs) ?? { ...one, units: 0, reviewedAtMs: now.latestMs + lease.lifeMs };
    const mayGo = unused.has(endsAtMs) || unused.size < buckets;
    const isDue = Math.min(endsAtMs, one.reviewedAtMs) <= now.latestMs && mayGo;
    const needs = areKept ? units : Math.min(units, Math.max(0, needed));
    const keeps = !isDue ? units : endsAtMs <= now.latestMs ? 0 : needs;
    needed -= keeps;
    const reviewedAtMs = isDue ? now.latestMs + lease.lifeMs : one.reviewedAtMs;
    if (keeps > 0) kept.push({ ...one, units: keeps, reviewedAtMs });
    if (keeps === units) continue;
    bucket.units += units - keeps;
    unused.set(endsAtMs, bucket);
    if (lease.charged && chargedAtMs >= lease.charged.firstAtMs) lease.charged.units -= units - keeps;
  }
  lease.units = kept;
  keep(memory, record);
  return [...unused.values()].map((units) => {
    return { key: { key, group: ENFORCED, cost: units.units, limits: lease.limits }, units };
  });
}

/** Takes out all leased units of all keys that still count, as they were charged. */
export function allUnits(memory: Memory, { latestMs }: Now): Receipt[] {
  const receipts: Receipt[] = [];
  for (const key of memory.leased) {
    const record = recordOf(memory, key);
    for (const lease of record?.leases ?? []) {
      for (const { units, bucketAtMs, endsAtMs } of lease.units) {
        const counts = units > 0 && endsAtMs > latestMs;
        noteUnits(memory, key, counts ? "returned" : "lapsed", units);
        if (counts) receipts.push({ key, group: ENFORCED, cost: units, limits: lease.limits, atMs: bucketAtMs });
      }
      lease.units = [];
    }
    if (record) keep(memory, record);
  }
  memory.leased.clear();
  return receipts;
}

/** Units have surely not been returned: they are leased again, and returned later. */
export function keepUnused(memory: Memory, name: LeaseName, { units }: Unused): void {
  const found = numberedLease(memory, name);
  if (!found || units.chargedAtMs <= found.lease.worthlessToMs) {
    noteUnits(memory, name.key, "lapsed", units.units);
    return;
  }
  const { record, lease } = found;
  lease.units.push(units);
  if (lease.charged && units.chargedAtMs >= lease.charged.firstAtMs) lease.charged.units += units.units;
  memory.leased.add(name.key);
  keep(memory, record);
}

/** Units were returned. @param replies to the key, which may show that another isolate has reset it. */
export function bookReturn(
  memory: Memory,
  name: LeaseName,
  units: number,
  replies: readonly LimitReply[],
  nowMs: number,
): void {
  noteUnits(memory, name.key, "returned", units);
  const found = numberedLease(memory, name);
  if (found) endIfReset(memory, found, 0, replies, nowMs);
}
