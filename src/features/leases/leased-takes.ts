/** Takes under `leased`, over all keys of a request: each of these functions decides for all keys or for none. */

import { algorithmOf } from "../../kernel/core/algorithms.ts";
import type { KeyRequest, LimitReply, TakeReply } from "../../kernel/core/take.ts";
import type { LeasedUnits, LeaseName } from "../../kernel/place/lease.ts";
import type { Memory } from "../../kernel/place/memory.ts";
import { knownRefusal, refusedSince } from "../../kernel/place/refusals.ts";
import type { Now } from "../../kernel/place/store-clock.ts";
import type { AskedKey } from "../../kernel/place/taker.ts";
import {
  type AskingLease,
  addDemand,
  ask,
  askingLease,
  book,
  callOf,
  dropAsks,
  endAsk,
  findLease,
  hasUnreturned,
  type LeaseOfKey,
  leasedUnits,
  leaseFor,
  needsMore,
  numberedLease,
  pauseAfter,
  putBack,
  spend,
  spendable,
  viewsAt,
  wasResetElsewhere,
} from "./leases.ts";

/** Units that a request has spent from a lease. */
interface Spent extends LeaseName {
  readonly units: readonly LeasedUnits[];
}

/** An admission, and what was spent for it. */
export interface Admitted {
  readonly reply: TakeReply;
  readonly spent: readonly Spent[];
}

/** A request of one key, and the lease for its numbers, if there is one. */
interface Want {
  readonly key: KeyRequest;
  readonly found: LeaseOfKey | undefined;
}

function wantsOf(memory: Memory, keys: readonly KeyRequest[]): Want[] {
  return keys.map((key) => ({ key, found: findLease(memory, key) }));
}

/** An admission from leased units. */
interface FromLeases extends Admitted {
  /** Whether it is time to ask for more of some units, or to see that some are returned. */
  readonly isLow: boolean;
  readonly isUnreturned: boolean;
}

/**
 * Answers from leased units if they suffice under every key of the request.
 *
 * @param isNew the request has come just now: its demand is noted.
 */
export function spendLeased(
  memory: Memory,
  keys: readonly KeyRequest[],
  now: Now,
  isNew: boolean,
): FromLeases | undefined {
  const leases = keys.map((key) => leaseFor(memory, key));
  if (isNew) for (const [k, { cost }] of keys.entries()) addDemand(leases[k]!.lease, cost, now.localAtMs);
  const nowMs = now.earliestMs;
  const suffices = leases.every(({ lease }, k) => spendable(lease, now) >= keys[k]!.cost);
  if (nowMs === undefined || !suffices) return undefined;
  const spent = leases.map((one, k): Spent => {
    return { key: one.key, lease: one.lease.number, units: spend(memory, one, keys[k]!.cost, now) };
  });
  const reply = replyOf(
    keys,
    leases.map((one, k) => replyToKey(keys[k]!, one, nowMs, true)),
    nowMs,
  );
  const isUnreturned = leases.some(({ lease }) => hasUnreturned(lease, now));
  return { reply, spent, isLow: leases.some((one) => needsMore(one, now)), isUnreturned };
}

/** What was spent for a request is leased again. @param back how many units, by key. */
export function returnSpent(memory: Memory, spent: readonly Spent[], back: ReadonlyMap<string, number>): void {
  for (const one of spent) {
    let left = back.get(one.key) ?? 0;
    const units = one.units.map((each) => {
      const part = Math.min(left, each.units);
      left -= part;
      return { ...each, units: part };
    });
    const found = numberedLease(memory, one);
    if (found) putBack(memory, found, units);
  }
}

/**
 * A refusal of what the leased units do not cover: known, or told to another request since this one came.
 *
 * @param came the last number that was given away when this request came.
 */
export function refusalOfRest(
  memory: Memory,
  keys: readonly KeyRequest[],
  came: number,
  now: Now,
): { readonly reply: TakeReply; readonly isKnown: boolean } | undefined {
  const wants = wantsOf(memory, keys);
  const rest: KeyRequest[] = [];
  for (const { key, found } of wants) {
    const cost = key.cost - (found ? spendable(found.lease, now) : 0);
    if (cost > 0) rest.push(cost === key.cost ? key : { ...key, cost });
  }
  const known = knownRefusal(memory, rest, now);
  const refused = known ?? refusedSince(memory, rest, came, now);
  if (!refused) return undefined;
  // The waits are those of the whole cost: the leased units are returned before they end.
  const replies = wants.map(({ key, found }) => {
    const r = rest.findIndex((one) => one.key === key.key);
    return replyToKey(key, found, refused.nowMs, r < 0, refused.keys[r]);
  });
  if (!isRefusal(replies)) return undefined;
  return { reply: { ...refused, keys: replies }, isKnown: known !== undefined };
}

/**
 * A refusal although the counts may admit: this isolate got fewer units than it needs a moment ago, and does not ask
 * again yet.
 */
export function refusalWhilePaused(memory: Memory, keys: readonly KeyRequest[], now: Now): TakeReply | undefined {
  const { localAtMs, earliestMs: nowMs } = now;
  const wants = wantsOf(memory, keys);
  const isPaused = ({ key, found }: Want) =>
    found!.lease.pausedUntilMs > localAtMs && spendable(found!.lease, now) < key.cost;
  if (nowMs === undefined || wants.some(({ found }) => !found?.lease.replies) || !wants.some(isPaused))
    return undefined;
  const replies = wants.map(({ key, found }) => replyToKey(key, found, nowMs, false));
  const untilMs = Math.max(...wants.filter(isPaused).map(({ found }) => found!.lease.pausedUntilMs));
  const pausedMs = Math.ceil(untilMs - localAtMs);
  // The counts refuse for longer than the pause: only the store can tell the wait.
  const isRefusedLonger = ({ key: { limits, cost } }: Want, w: number) =>
    limits.some((limit, l) => {
      const { view, refused } = replies[w]![l]!;
      if (!refused) return false;
      const { retryAfterMs = Number.POSITIVE_INFINITY } = algorithmOf(limit).tell(view, limit, cost, true, nowMs);
      return retryAfterMs > pausedMs;
    });
  if (wants.some(isRefusedLonger)) return undefined;
  const refused = wants.map((want, w) => {
    return replies[w]!.map((reply) =>
      isPaused(want) ? { ...reply, refused: true, pausedMs } : { ...reply, refused: false },
    );
  });
  return { nowMs, allowed: false, keys: refused, charged: [] };
}

/** The number of the newest call in flight for leased units of these keys. 0: there is none. */
export function callInFlight(memory: Memory, keys: readonly KeyRequest[], now: Now): number {
  return Math.max(...wantsOf(memory, keys).map(({ found }) => (found ? callOf(found.lease, now) : 0)));
}

/** The numbers of the leases, in the order of the keys. 0: there is none. */
export function leasesOf(memory: Memory, keys: readonly KeyRequest[]): number[] {
  return wantsOf(memory, keys).map(({ found }) => found?.lease.number ?? 0);
}

/** How long the last call of the leases took, in ms. 0: none of them has made a call. */
export function longestCallMs(memory: Memory, keys: readonly KeyRequest[]): number {
  return Math.max(...wantsOf(memory, keys).map(({ found }) => found?.lease.callMs ?? 0));
}

/** What a request asks the store for in one call. */
export interface Asking {
  /** The number of the call. The leases hold under it what was reserved for the request. */
  readonly call: number;
  /** The keys as the store is asked. A key that leased units cover is not among them. */
  readonly asked: readonly AskedKey[];
  /** For each of these keys, the units that the request itself needs. */
  readonly needed: readonly number[];
}

/**
 * Asks for what the request needs beyond its leased units, which are reserved for it.
 *
 * @param isAhead also for units for later requests.
 */
export function askFor(memory: Memory, keys: readonly AskedKey[], isAhead: boolean, now: Now): Asking {
  const call = ++memory.last;
  const asked: AskedKey[] = [];
  const units: number[] = [];
  for (const key of keys) {
    const lease = leaseFor(memory, key);
    dropAsks(memory, lease, now);
    const { needed, ahead } = ask(memory, lease, call, key.cost, isAhead, now);
    if (needed + ahead === 0) continue;
    asked.push({ ...key, cost: needed + ahead });
    units.push(needed);
  }
  return { call, asked, needed: units };
}

/** Asks for more before the leased units of this key run out. undefined: it is not time yet. */
export function askAhead(memory: Memory, key: AskedKey, now: Now): Asking | undefined {
  const found = findLease(memory, key);
  if (!found || !needsMore(found, now)) return undefined;
  const asking = askFor(memory, [{ ...key, cost: 0 }], true, now);
  if (asking.asked.length > 0) return asking;
  endAsk(memory, found, asking.call);
  return undefined;
}

/**
 * Books the reply to a call.
 *
 * @returns the answer to the request. undefined: there is none yet, and the memory has to be looked at again.
 */
export function bookReply(
  memory: Memory,
  keys: readonly KeyRequest[],
  { call, asked, needed }: Asking,
  reply: TakeReply,
  localAtMs: number,
): Admitted | undefined {
  const { allowed, nowMs } = reply;
  const parts = keys.map((key): RepliedKey => {
    const k = asked.findIndex((one) => one.key === key.key);
    return { key, found: askingLease(memory, key.key, call), needed: needed[k] ?? 0, replies: reply.keys[k] };
  });
  const hasLostUnits = allowed && parts.some((part) => hasLostReserved(part, nowMs));
  for (const { found, replies } of parts) {
    if (!found) continue;
    const { lease, asked: one } = found;
    endAsk(memory, found, call);
    const back = allowed && !hasLostUnits ? [] : one.reserved;
    if (replies) {
      lease.callMs = Math.max(0, localAtMs - one.atMs);
      const charged = allowed ? one.needed + one.ahead : 0;
      book(memory, found, replies, nowMs, { charged, leased: hasLostUnits ? charged : one.ahead, back });
    } else putBack(memory, found, back);
    pauseAfter(found, one, allowed, replies, localAtMs);
  }
  if (hasLostUnits) return undefined;
  const answer = replyOf(
    keys,
    parts.map(({ key, found, replies }) => replyToKey(key, found, nowMs, allowed, found ? undefined : replies)),
    nowMs,
  );
  // The refusal may be due to the units ahead of demand. The request alone may still fit.
  if (!allowed && answer.allowed) return undefined;
  return { reply: answer, spent: allowed ? parts.flatMap((part) => spentIn(part, nowMs)) : [] };
}

/** One key of a request to which the store has replied. */
interface RepliedKey {
  readonly key: KeyRequest;
  /** The lease that has asked. undefined: the key was reset, or the lease was forgotten. */
  readonly found: AskingLease | undefined;
  /** The units that the request needed beyond those that were reserved for it. */
  readonly needed: number;
  /** undefined: nothing was asked for under this key. */
  readonly replies: readonly LimitReply[] | undefined;
}

/**
 * Whether units that were reserved for the request ended before the reply, with their bucket or with a reset. They must
 * not be spent together with it.
 */
function hasLostReserved({ key, found, needed, replies }: RepliedKey, nowMs: number): boolean {
  if (needed === key.cost) return false;
  if (!found) return true;
  const { lease, asked } = found;
  if (replies && wasResetElsewhere(lease, asked.needed + asked.ahead, replies, nowMs)) return true;
  return asked.reserved.some((one) => one.endsAtMs <= nowMs || one.chargedAtMs <= lease.worthlessToMs);
}

/** What an admitted request has spent: units that were reserved, and those that this reply has charged for it. */
function spentIn({ key, found, needed, replies }: RepliedKey, nowMs: number): Spent[] {
  if (!found) return [];
  const charged = needed > 0 && replies ? [leasedUnits(found.lease, needed, nowMs, replies)] : [];
  return [{ key: key.key, lease: found.lease.number, units: [...found.asked.reserved, ...charged] }];
}

/** No answer has come. What was reserved is leased again. @param mayComeLate the answer may still come. */
export function bookFailure(memory: Memory, keys: readonly KeyRequest[], call: number, mayComeLate: boolean): void {
  for (const { key } of keys) {
    const found = askingLease(memory, key, call);
    if (!found) continue;
    const { asked } = found;
    putBack(memory, found, asked.reserved);
    asked.reserved = [];
    asked.isLate = true;
    if (!mayComeLate) endAsk(memory, found, call);
  }
}

/**
 * Books an answer that came too late for its request: the counts are learned, and the units ahead of demand are leased.
 * The units that the request needed are not booked here: what has decided without the store settles them.
 */
export function bookLateReply(
  memory: Memory,
  { call, asked }: Asking,
  { allowed, nowMs, keys }: TakeReply,
  localAtMs: number,
): void {
  for (const [k, { key }] of asked.entries()) {
    const found = askingLease(memory, key, call);
    if (!found) continue;
    const { ahead, atMs } = found.asked;
    endAsk(memory, found, call);
    found.lease.callMs = Math.max(0, localAtMs - atMs);
    book(memory, found, keys[k]!, nowMs, { charged: allowed ? ahead : 0, leased: ahead, back: [] });
  }
}

/** What a look has told, as a take would be told it: leased units are free. */
export function lookedAt(memory: Memory, keys: readonly KeyRequest[], reply: TakeReply, now: Now): TakeReply {
  const replies = keys.map((key, k): readonly LimitReply[] => {
    const found = findLease(memory, key);
    if (!found) return reply.keys[k]!;
    const suffices = spendable(found.lease, now) >= Math.max(1, key.cost);
    return replyToKey(key, found, reply.nowMs, suffices, reply.keys[k]);
  });
  return { ...reply, allowed: !isRefusal(replies), keys: replies };
}

/**
 * What the counts mean for a key, without its leased units.
 *
 * @param counts what the store replied. Default: its last reply to the lease.
 */
function replyToKey(
  { cost, limits }: KeyRequest,
  found: LeaseOfKey | undefined,
  nowMs: number,
  allowed: boolean,
  counts: readonly LimitReply[] | undefined = found?.lease.replies,
): readonly LimitReply[] {
  return viewsAt(found?.lease ?? { limits, units: [] }, counts!, nowMs).map((view, l): LimitReply => {
    const refused = !allowed && algorithmOf(limits[l]!).recall(view, limits[l]!, nowMs, cost, cost)!.refused;
    return { view, refused };
  });
}

function replyOf(keys: readonly KeyRequest[], replies: readonly (readonly LimitReply[])[], nowMs: number): TakeReply {
  const allowed = !isRefusal(replies);
  return { nowMs, allowed, keys: replies, charged: allowed ? keys.map((key) => ({ ...key, atMs: nowMs })) : [] };
}

function isRefusal(keys: readonly (readonly LimitReply[])[]): boolean {
  return keys.some((replies) => replies.some(({ refused }) => refused));
}
