/**
 * The leases of an isolate, one by one. leased-takes.ts decides over all keys of a request.
 *
 * A leased unit has been charged, so no more than the limit is ever handed out. The number of leased units follows from
 * the recent rate of the key (lease-size.ts). Units beyond that number are returned after a while.
 */

import { leasedMs } from "../../kernel/core/algorithm.ts";
import { algorithmOf, type LimitRecord, type LimitView } from "../../kernel/core/algorithms.ts";
import { haveSameNumbers } from "../../kernel/core/numbers.ts";
import type { KeyRequest, LimitReply } from "../../kernel/core/take.ts";
import type { Ask, Lease, LeasedUnits, LeaseName } from "../../kernel/place/lease.ts";
import { keep, type Memory, noteUnits, recordFor, recordOf } from "../../kernel/place/memory.ts";
import { leftBy } from "../../kernel/place/own-part.ts";
import { unitsWaiting } from "../../kernel/place/pending.ts";
import type { KeyRecord } from "../../kernel/place/record.ts";
import type { Now } from "../../kernel/place/store-clock.ts";
import { chargedPerMs, isLow, keptPart, leastWanted, memoryMs, mostUnits, ownPart, wanted } from "./lease-size.ts";

/**
 * Leases of one key, each for other numbers: units are spent only with the numbers that they were taken with. One more
 * takes the place of the oldest, whose units lapse with their window.
 */
const MAX_LEASES_OF_KEY = 4;
/**
 * The largest part of the remaining units that one isolate leases, and the largest for requests that wait already.
 * Other isolates need some too: an isolate that has made a larger part of the charges may take that part.
 */
const LARGEST_SHARE = 1 / 3;
const LARGEST_WAITING_SHARE = 1 / 2;
/** Units are few if they are less than this part of what is wanted when nearly nothing remains. */
const SHORT_PART = 0.5;
/** The pause after few units, without any ask: this long, or this part of the window if that is shorter. */
const PAUSE_MS = 250;
const PAUSE_PART = 1 / 40;
/** A call without an answer after this long has ended with its request. */
const CALL_ENDED_MS = 1_000;

/** A lease where it lies. Never kept across an await. */
export interface LeaseOfKey {
  readonly key: string;
  readonly record: KeyRecord;
  readonly lease: Lease;
}

/** A lease, and what it has asked in one call. */
export interface AskingLease extends LeaseOfKey {
  readonly asked: Ask;
}

/** The lease of a key and of the numbers of its limits, if there is one. */
export function findLease(memory: Memory, { key, limits }: KeyRequest): LeaseOfKey | undefined {
  const record = recordOf(memory, key);
  // Nearly every answer from a lease comes through here: no function is made for it.
  for (const lease of record?.leases ?? []) {
    if (lease.number > memory.step && haveSameNumbers(lease.limits, limits)) return { key, record: record!, lease };
  }
  return undefined;
}

/** The same. It is made if there is none. */
export function leaseFor(memory: Memory, request: KeyRequest): LeaseOfKey {
  const found = findLease(memory, request);
  if (found) return found;
  const { key, limits } = request;
  const record = recordFor(memory, key);
  const windows = limits.map((limit) => algorithmOf(limit).capacity(limit).windowMs);
  const windowMs = Math.min(...windows);
  const lease: Lease = {
    number: ++memory.last,
    limits,
    lifeMs: leasedMs(windowMs),
    pauseMs: Math.min(PAUSE_MS, windowMs * PAUSE_PART),
    callMs: 0,
    units: [],
    charged: undefined,
    worthlessToMs: 0,
    replies: undefined,
    repliedAtMs: 0,
    left: 0,
    mostUnits: mostUnits(limits, leasedMs(windowMs)),
    // Until two replies have told more: as much as the limits allow.
    chargedPerMs: Math.min(...limits.map(({ limit }, l) => limit / windows[l]!)),
    ownPart: 0,
    demand: 0,
    demandAtMs: 0,
    requests: 0,
    seenMs: 0,
    latest: 0,
    asks: undefined,
    pausedUntilMs: 0,
    returnsUntilMs: 0,
  };
  record.leases = [lease, ...(record.leases ?? []).slice(0, MAX_LEASES_OF_KEY - 1)];
  keep(memory, record, true);
  return { key, record, lease };
}

/**
 * A lease by its number. After a step of a clock nobody spends from it any more, and its units are returned.
 * undefined: the key was reset, or the lease was forgotten.
 */
export function numberedLease(memory: Memory, name: LeaseName): LeaseOfKey | undefined {
  const record = recordOf(memory, name.key);
  const lease = record?.leases?.find(({ number }) => number === name.lease);
  return lease && { key: name.key, record: record!, lease };
}

/** The lease that has asked in this call. undefined: as for `numberedLease`. */
export function askingLease(memory: Memory, key: string, call: number): AskingLease | undefined {
  const record = recordOf(memory, key);
  for (const lease of record?.leases ?? []) {
    const asked = lease.asks?.get(call);
    if (asked) return { key, record: record!, lease, asked };
  }
  return undefined;
}

/** Notes that a request needs units. */
export function addDemand(lease: Lease, units: number, localAtMs: number): void {
  const kept = keptPart(lease, localAtMs);
  lease.seenMs = kept && lease.seenMs * kept + memoryMs(lease) * (1 - kept);
  lease.demand = lease.demand * kept + units;
  lease.demandAtMs = localAtMs;
  lease.requests = lease.requests * kept + 1;
  lease.latest = units;
}

/** The units that may be spent. Nothing may be spent while the store's clock is not known. */
export function spendable({ units: all }: Lease, { latestMs }: Now): number {
  let sum = 0;
  for (const { units, endsAtMs } of all) if (endsAtMs > latestMs) sum += units;
  return sum;
}

/** Spends leased units. @returns what was spent, which may be less. */
export function spend(memory: Memory, { key, record, lease }: LeaseOfKey, units: number, now: Now): LeasedUnits[] {
  let left = units;
  const spent: LeasedUnits[] = [];
  for (const one of lease.units) {
    const part = one.endsAtMs > now.latestMs ? Math.min(left, one.units) : 0;
    if (part === 0) continue;
    one.units -= part;
    left -= part;
    spent.push({ ...one, units: part });
  }
  if (lease.units.some((one) => one.units === 0)) {
    lease.units = lease.units.filter((one) => one.units > 0);
    keep(memory, record);
  }
  noteUnits(memory, key, "spent", units - left);
  return spent;
}

/** Puts units back that were spent, unless a reset has made them worthless meanwhile. */
export function putBack(memory: Memory, { key, record, lease }: LeaseOfKey, spent: readonly LeasedUnits[]): void {
  const back = spent.filter(({ units, chargedAtMs }) => units > 0 && chargedAtMs > lease.worthlessToMs);
  lease.units.push(...back);
  if (back.length > 0) memory.leased.add(key);
  keep(memory, record);
  noteUnits(memory, key, "spent", -sumOf(back));
}

/** Units that were charged at an instant of the store, with this reply to the key, as they would be leased. */
export function leasedUnits(
  { limits, lifeMs }: Lease,
  units: number,
  chargedAtMs: number,
  replies: readonly LimitReply[],
): LeasedUnits {
  const ends = limits.map((limit) => algorithmOf(limit).lease!.endsAtMs(limit, chargedAtMs));
  // All limits of a key are charged together: the latest beginning of their newest buckets lies in all of them.
  const begins = limits.map((limit, l) => algorithmOf(limit).chargedAtMs(replies[l]!.view, limit));
  const bucketAtMs = Math.max(chargedAtMs, ...begins);
  return { units, chargedAtMs, bucketAtMs, endsAtMs: Math.min(...ends), reviewedAtMs: chargedAtMs + lifeMs };
}

/** Whether it is time to ask for more in the background. */
export function needsMore({ record, lease }: LeaseOfKey, now: Now): boolean {
  if (now.localAtMs < lease.pausedUntilMs || callOf(lease, now) > 0) return false;
  return isLow(lease, spendable(lease, now), unitsWaiting(record, lease.number, now.localAtMs), now);
}

/** Whether the lease has units that nobody returns at present. */
export function hasUnreturned({ units, returnsUntilMs }: Lease, { localAtMs }: Now): boolean {
  return units.length > 0 && returnsUntilMs <= localAtMs;
}

/** The number of the newest call of this lease in flight. 0: there is none. */
export function callOf({ asks }: Lease, { localAtMs }: Now): number {
  let newest = 0;
  for (const [call, { isLate, atMs }] of asks ?? []) {
    if (!isLate && Math.abs(localAtMs - atMs) < CALL_ENDED_MS) newest = call;
  }
  return newest;
}

/**
 * What to ask the store for: what the request needs beyond its reserved units, and with `isAhead` also units to lease.
 * From now on a call is in flight.
 */
export function ask(memory: Memory, one: LeaseOfKey, call: number, cost: number, isAhead: boolean, now: Now): Ask {
  const { record, lease } = one;
  const reserved = spend(memory, one, cost, now);
  const needed = cost - sumOf(reserved);
  const waiting = unitsWaiting(record, lease.number, now.localAtMs);
  const target = isAhead ? wanted(lease, waiting, now) - spendable(lease, now) : 0;
  const left = lease.replies ? leftBy(lease, lease.replies, arrivesAtMs(lease, now)) : 0;
  const free = Math.max(0, left - needed);
  // Without leased units, each waiting request would make a call: half of what remains is for them. The part ahead of
  // demand is smaller.
  const waitingPart = Math.max(LARGEST_WAITING_SHARE, lease.ownPart);
  const forWaiting = isAhead ? Math.min(waiting, Math.ceil(free * waitingPart)) : 0;
  const share = forWaiting + Math.ceil((free - forWaiting) * Math.max(LARGEST_SHARE, lease.ownPart));
  const ahead = Math.max(0, Math.min(target, share));
  const least = Math.min(target, leastWanted(lease, waiting, now.localAtMs)) * SHORT_PART;
  const isShort = lease.replies !== undefined && ahead < least;
  const asked: Ask = { atMs: now.localAtMs, needed, ahead, reserved, isShort, isLate: false };
  lease.asks ??= new Map();
  lease.asks.set(call, asked);
  keep(memory, record);
  return asked;
}

/**
 * The instant, by the store's clock, at which a call that is made now is assumed to arrive: between the earliest
 * possible instant and the middle. The larger this isolate's part of all charges, the nearer to the middle: units that
 * come back meanwhile are then likely to be still there.
 */
function arrivesAtMs({ ownPart, repliedAtMs }: Lease, { earliestMs, latestMs }: Now): number {
  return earliestMs === undefined ? repliedAtMs : earliestMs + ((latestMs - earliestMs) / 2) * ownPart;
}

/** Ends what a lease has asked in a call. */
export function endAsk(memory: Memory, { record, lease }: LeaseOfKey, call: number): void {
  lease.asks!.delete(call);
  if (lease.asks!.size === 0) lease.asks = undefined;
  keep(memory, record);
}

/** Ends calls that were never answered: the runtime has ended their requests. What was reserved lapses. */
export function dropAsks(memory: Memory, one: LeaseOfKey, now: Now): void {
  for (const [call, { atMs }] of one.lease.asks ?? []) {
    if (Math.abs(now.localAtMs - atMs) >= memory.forgottenMs) endAsk(memory, one, call);
  }
}

/**
 * Books the reply to a call of the lease.
 *
 * @param charged units. @param leased how many of them are leased. @param back reserved units that were not spent.
 */
export function book(
  memory: Memory,
  one: LeaseOfKey,
  replies: readonly LimitReply[],
  nowMs: number,
  { charged, leased, back }: { charged: number; leased: number; back: readonly LeasedUnits[] },
): void {
  const { lease } = one;
  endIfReset(memory, one, charged, replies, nowMs);
  putBack(memory, one, back);
  if (charged > 0 && nowMs > lease.worthlessToMs) addCharge(memory, one, charged, leased, nowMs, replies);
  // Late replies arrive out of order: a newer reply may be known already, and stays. After a step of a clock nobody can
  // know which reply is newer. Then this reply counts, for the requests of this call too.
  if (nowMs < lease.repliedAtMs && lease.number > memory.step) return;
  lease.chargedPerMs = chargedPerMs(lease, replies, nowMs);
  lease.left = leftBy(lease, replies, nowMs);
  lease.repliedAtMs = nowMs;
  lease.replies = replies;
  lease.ownPart = ownPart(lease, replies, nowMs);
}

/** Books units that the store has charged. */
function addCharge(
  memory: Memory,
  { key, record, lease }: LeaseOfKey,
  charged: number,
  leased: number,
  chargedAtMs: number,
  replies: readonly LimitReply[],
): void {
  const units = leasedUnits(lease, leased, chargedAtMs, replies);
  const { endsAtMs } = units;
  if (leased > 0) {
    lease.units.push(units);
    memory.leased.add(key);
  }
  keep(memory, record);
  noteUnits(memory, key, "granted", charged);
  noteUnits(memory, key, "spent", charged - leased);
  if (!lease.charged || lease.charged.endsAtMs <= chargedAtMs) {
    lease.charged = { units: charged, firstAtMs: chargedAtMs, lastAtMs: chargedAtMs, endsAtMs };
  } else if (chargedAtMs >= lease.charged.firstAtMs) {
    lease.charged.units += charged;
    lease.charged.lastAtMs = Math.max(lease.charged.lastAtMs, chargedAtMs);
  }
}

/**
 * Pauses after few units. A refusal of a call that also asked for units ahead of demand is no reason to pause: the
 * request asks again for fewer units. While much is left, a refusal is no reason either: others have charged since the
 * last reply, and the next call asks for less.
 */
export function pauseAfter(
  { record, lease }: LeaseOfKey,
  { needed, ahead, isShort }: Ask,
  allowed: boolean,
  replies: readonly LimitReply[] | undefined,
  localAtMs: number,
): void {
  const waiting = unitsWaiting(record, lease.number, localAtMs);
  const isEnough = lease.left >= Math.max(1, leastWanted(lease, waiting, localAtMs) * SHORT_PART);
  const asksAgain = ahead > 0 && (needed > 0 || isEnough);
  const refused = replies?.some((reply) => reply.refused) && !asksAgain;
  if (refused || (allowed && isShort)) lease.pausedUntilMs = localAtMs + lease.pauseMs;
}

/**
 * Whether another isolate has reset the key: then the store reports fewer units than this isolate has charged. Units
 * leased before the reset are worth nothing.
 *
 * @param units charged with this very reply. @param nowMs when the store decided.
 */
export function wasResetElsewhere(
  { charged, limits }: Lease,
  units: number,
  replies: readonly LimitReply[],
  nowMs: number,
): boolean {
  // A reply from before the last charge does not include it.
  if (!charged || nowMs <= charged.lastAtMs || nowMs >= charged.endsAtMs) return false;
  return limits.some((limit, l) => {
    const counted = algorithmOf(limit).lease!.inBucket?.(replies[l]!.view) ?? Number.POSITIVE_INFINITY;
    return counted < charged.units + units;
  });
}

/** Drops leased units that are worth nothing. The parameters are those of `wasResetElsewhere`. */
export function endIfReset(
  memory: Memory,
  { key, record, lease }: LeaseOfKey,
  charged: number,
  replies: readonly LimitReply[],
  nowMs: number,
): void {
  if (!wasResetElsewhere(lease, charged, replies, nowMs)) return;
  noteUnits(memory, key, "lapsed", sumOf(lease.units));
  lease.units = [];
  keep(memory, record);
  // The call whose reply told of the reset may have charged units in this very millisecond, after the reset.
  lease.worthlessToMs = Math.max(lease.charged?.lastAtMs ?? lease.worthlessToMs, nowMs - 1);
  lease.charged = undefined;
}

/** The counts of a reply to the lease, at an instant of the store, without the leased units. */
export function viewsAt(
  { limits, units: leased }: Pick<Lease, "limits" | "units">,
  replies: readonly LimitReply[],
  nowMs: number,
): readonly LimitView[] {
  return limits.map((limit, l) => {
    const { recall, giveBack } = algorithmOf(limit);
    // The view is also the state: whatever can be leased is a counter.
    let counted = recall(replies[l]!.view, limit, nowMs, 1, 1)!.view as LimitRecord;
    for (const { units, bucketAtMs: atMs, endsAtMs } of leased) {
      if (endsAtMs > nowMs) counted = giveBack(counted, limit, units, { nowMs, atMs, slot: 0 }) as LimitRecord;
    }
    return counted as LimitView;
  });
}

/** The key is being reset: the store forgets what was charged for these units. */
export function endLeases(memory: Memory, key: string): void {
  const record = recordOf(memory, key);
  if (!record) return;
  for (const { units } of record.leases ?? []) noteUnits(memory, key, "lapsed", sumOf(units));
  record.leases = undefined;
}

export function sumOf(all: readonly LeasedUnits[]): number {
  return all.reduce((sum, { units }) => sum + units, 0);
}
