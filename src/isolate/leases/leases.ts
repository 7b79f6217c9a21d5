/**
 * The leases of an isolate: units that it took from the store ahead of demand, and what it knows about the demand. This
 * file gets instants and replies, and returns what to ask for. take-leased.ts makes the calls. No other file writes a
 * lease.
 *
 * A unit in stock has been charged, so no more than the limit is ever handed out. The number of units in stock follows
 * from the recent rate of the key (lease-size.ts). Units beyond that number are given back after a while.
 */

import { BoundedMap } from "../../bounded-map.ts";
import { leasedMs } from "../../core/algorithm.ts";
import { algorithmOf, type LimitView } from "../../core/algorithms.ts";
import { haveSameNumbers } from "../../core/numbers.ts";
import type { KeyRequest, LimitReply } from "../../core/take.ts";
import type { IsolateListener, LeaseEvent } from "../listener.ts";
import type { StoreClock } from "../store-clock.ts";
import type { Charged, Grant, Lease, LeaseAnswer, LeaseRequest, Unused } from "./lease.ts";
import {
  chargedPerMs,
  isLow,
  keptPart,
  leastWanted,
  leftBy,
  mayKeep,
  memoryMs,
  mostUnits,
  ownPart,
  wanted,
} from "./lease-size.ts";

/**
 * A key of one window takes about 1.2 KiB. In two generations that is 24 MiB of an isolate's 128 MiB (Node 24,
 * 2026-11).
 */
const MAX_LEASES = 10_000;
/**
 * Leases of one key, each for other numbers: units are spent only with the numbers that they were taken with. One more
 * takes the place of the oldest, whose stock goes back, or lapses with its window.
 */
const MAX_LEASES_OF_KEY = 4;
/**
 * The largest part of the remaining units that goes into one stock, and the largest for requests that wait already.
 * Other isolates need some too: an isolate that has made a larger part of the charges may take that part.
 */
const LARGEST_SHARE = 1 / 3;
const LARGEST_WAITING_SHARE = 1 / 2;
/** A grant is short if it is less than this part of the stock that is wanted when nearly nothing remains. */
const SHORT_PART = 0.5;
/** The pause after a short grant, without any ask: this long, or this part of the window if that is shorter. */
const PAUSE_MS = 250;
const PAUSE_PART = 1 / 40;
/** Keys that were reset lately. */
const MAX_RESETS = 1_000;
/** A call without an answer after this long has ended with its request. */
const FORGOTTEN_MS = 1_000;

export interface Leases {
  /** The lease of a key and of the numbers of its limits. */
  of(request: KeyRequest): Lease;
  /** The same, if there is one. */
  find(request: KeyRequest): Lease | undefined;
  /** Notes that a request needs units. */
  addDemand(lease: Lease, units: number, localAtMs: number): void;
  /** Notes that a request waits for units. A negative number: it waits no longer. */
  addWaiting(lease: Lease, units: number): void;
  /** The units that may be spent. */
  inStock(lease: Lease, localAtMs: number): number;
  /** Spends units from the stock. */
  spend(lease: Lease, units: number, localAtMs: number): readonly Grant[];
  /** Puts units into the stock that were spent, if no reset has made them worthless meanwhile. */
  unspend(lease: Lease, spent: readonly Grant[]): void;
  /** Units that were charged at an instant of the store, with this reply to the key, as they would be in stock. */
  grant(lease: Lease, units: number, chargedAtMs: number, replies: readonly LimitReply[]): Grant;
  /** Whether it is time to ask for more in the background. */
  isLow(lease: Lease, localAtMs: number): boolean;
  isCalling(lease: Lease, localAtMs: number): boolean;
  /**
   * What to ask the store for: what the request needs beyond its reserved units, and with `ahead` also units for the
   * stock. From now on the lease has a call in flight.
   */
  request(lease: Lease, key: KeyRequest, localAtMs: number, ahead: boolean): LeaseRequest;
  /**
   * Books the answer to a request.
   *
   * @param answer absent: the outcome is not known. @param replies to this key. Absent: the key was not asked for.
   */
  settle(
    request: LeaseRequest,
    answer: LeaseAnswer | undefined,
    replies: readonly LimitReply[] | undefined,
    localAtMs: number,
  ): void;
  /**
   * Books an answer that came too late for its request. Its counts are learned, and the units for the stock go into the
   * stock. The units that the request needed are not booked here: the fallback settles them.
   */
  settleLate(request: LeaseRequest, answer: Omit<LeaseAnswer, "late">, replies: readonly LimitReply[]): void;
  /**
   * Whether this isolate has reset the key, or another one has: then the store reports fewer units than this isolate
   * has charged. Units leased before the reset are worth nothing.
   *
   * @param units charged with this very reply. @param nowMs when the store decided.
   */
  wasReset(lease: Lease, units: number, replies: readonly LimitReply[], nowMs: number): boolean;
  /** The counts of the last reply, or of `replies`, at an instant of the store, without the units in stock. */
  views(lease: Lease, nowMs: number, replies?: readonly LimitReply[]): readonly LimitView[];
  /** Takes units out of the stock that no request will need soon, from at most `buckets` buckets. */
  unused(lease: Lease, localAtMs: number, buckets: number): readonly Unused[];
  /** Milliseconds until the next check for unused units. undefined: nothing is in stock. */
  reviewAfterMs(lease: Lease, localAtMs: number): number | undefined;
  /** The background of a request looks after the lease until this instant of the local clock. 0: no longer. */
  tend(lease: Lease, untilMs: number): void;
  /** Empties the stock, because its units are worth nothing. @param resetByMs when the store told of the reset. */
  end(lease: Lease, resetByMs: number): void;
  /** These keys were reset: their stocks are emptied, and answers to calls in flight add nothing to them. */
  forget(keys: readonly string[]): void;
  clear(): void;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A lease as it is written here. */
interface LeaseState extends Omit<Writable<Lease>, "grants" | "charged"> {
  grants: Writable<Grant>[];
  charged: Writable<Charged> | undefined;
}

type RequestState = Omit<LeaseRequest, "lease"> & { readonly lease: LeaseState };

export function createLeases(clock: StoreClock, listener?: IsolateListener): Leases {
  const leases = new BoundedMap<string, readonly LeaseState[]>({
    maxSize: MAX_LEASES,
    weigh: ({ length }) => length,
  });

  let resets = 0;
  /** By key, the number of its last reset. */
  const lastReset = new BoundedMap<string, number>({ maxSize: MAX_RESETS });
  /**
   * Whether this isolate has reset the key since. Waiting requests, and the background that tends a lease, have the
   * lease itself, which may have left the map long before: only the number tells.
   */
  function isOver({ key, sinceReset }: Lease): boolean {
    return sinceReset < resets && (lastReset.get(key) ?? 0) > sinceReset;
  }

  const earliestMs = (localAtMs: number) => clock.at(localAtMs)?.earliestMs;
  /**
   * The instant, by the store's clock, at which a call that is made now is assumed to arrive: between the earliest
   * possible instant and the middle. The larger this isolate's part of all charges, the nearer to the middle: units
   * that come back meanwhile are then likely to be still there.
   */
  function arrivesAtMs({ ownPart, repliedAtMs }: Lease, localAtMs: number): number {
    const time = clock.at(localAtMs);
    return time ? time.earliestMs + ((time.latestMs - time.earliestMs) / 2) * ownPart : repliedAtMs;
  }

  /** Nothing may be spent while the store's clock is not known. */
  const latestMs = (localAtMs: number) => clock.at(localAtMs)?.latestMs ?? Number.POSITIVE_INFINITY;

  function find({ key, limits }: KeyRequest): LeaseState | undefined {
    // Nearly every answer from a stock comes through here: no function is made for it.
    for (const lease of leases.get(key) ?? []) if (haveSameNumbers(lease.limits, limits)) return lease;
    return undefined;
  }

  /** What is in stock. After a reset that is nothing. */
  function stockOf(lease: LeaseState): Writable<Grant>[] {
    if (lease.grants.length > 0 && isOver(lease)) end(lease, 0);
    return lease.grants;
  }

  function inStock(lease: Lease, localAtMs: number): number {
    const atMs = latestMs(localAtMs);
    return stockOf(lease as LeaseState).reduce((sum, { units, endsAtMs }) => (endsAtMs > atMs ? sum + units : sum), 0);
  }

  function tell({ key }: Lease, event: LeaseEvent, units: number): void {
    if (units !== 0) listener?.leaseUnits(key, event, units);
  }

  function spend(lease: LeaseState, units: number, localAtMs: number): Grant[] {
    const atMs = latestMs(localAtMs);
    let left = units;
    const spent: Grant[] = [];
    for (const grant of stockOf(lease)) {
      const part = grant.endsAtMs > atMs ? Math.min(left, grant.units) : 0;
      if (part === 0) continue;
      grant.units -= part;
      left -= part;
      spent.push({ ...grant, units: part });
    }
    lease.grants = lease.grants.filter(({ units }) => units > 0);
    tell(lease, "spent", units - left);
    return spent;
  }

  function wasReset(lease: Lease, units: number, replies: readonly LimitReply[], nowMs: number): boolean {
    if (isOver(lease)) return true;
    const { charged, limits } = lease;
    // A reply from before the last charge does not include it.
    if (!charged || nowMs <= charged.lastAtMs || nowMs >= charged.endsAtMs) return false;
    return limits.some((limit, l) => {
      const counted = algorithmOf(limit).lease!.inBucket?.(replies[l]!.view) ?? Number.POSITIVE_INFINITY;
      return counted < charged.units + units;
    });
  }

  function unspend(lease: LeaseState, spent: readonly Grant[]): void {
    if (isOver(lease)) return;
    const back = spent.filter(({ units, chargedAtMs }) => units > 0 && chargedAtMs > lease.worthlessToMs);
    lease.grants.push(...back);
    tell(lease, "spent", -sumOf(back));
  }

  function end(lease: LeaseState, resetByMs: number): void {
    tell(lease, "lapsed", sumOf(lease.grants));
    lease.grants = [];
    // The call whose reply told of the reset may have charged units in this very millisecond, after the reset.
    lease.worthlessToMs = Math.max(lease.charged?.lastAtMs ?? lease.worthlessToMs, resetByMs - 1);
    lease.charged = undefined;
  }

  function grant({ limits, lifeMs }: Lease, units: number, chargedAtMs: number, replies: readonly LimitReply[]): Grant {
    const ends = limits.map((limit) => algorithmOf(limit).lease!.endsAtMs(limit, chargedAtMs));
    // All limits of a key are charged together: the latest beginning of their newest buckets lies in all of them.
    const begins = limits.map((limit, l) => algorithmOf(limit).chargedAtMs?.(replies[l]!.view, limit) ?? 0);
    const bucketAtMs = Math.max(chargedAtMs, ...begins);
    return { units, chargedAtMs, bucketAtMs, endsAtMs: Math.min(...ends), reviewedAtMs: chargedAtMs + lifeMs };
  }

  /** Books units that the store has charged. @param stocked how many of them go into the stock. */
  function addCharge(
    lease: LeaseState,
    units: number,
    stocked: number,
    chargedAtMs: number,
    replies: readonly LimitReply[],
  ): void {
    const granted = grant(lease, stocked, chargedAtMs, replies);
    const { endsAtMs } = granted;
    if (stocked > 0) lease.grants.push(granted);
    tell(lease, "granted", units);
    tell(lease, "spent", units - stocked);
    if (!lease.charged || lease.charged.endsAtMs <= chargedAtMs) {
      lease.charged = { units, firstAtMs: chargedAtMs, lastAtMs: chargedAtMs, endsAtMs };
    } else if (chargedAtMs >= lease.charged.firstAtMs) {
      lease.charged.units += units;
      lease.charged.lastAtMs = Math.max(lease.charged.lastAtMs, chargedAtMs);
    }
  }

  /**
   * Books a reply to a call of the lease.
   *
   * @param charged units. @param stocked how many of them go into the stock. @param back units that were spent.
   */
  function book(
    lease: LeaseState,
    replies: readonly LimitReply[],
    nowMs: number,
    charged: number,
    stocked: number,
    back: readonly Grant[],
  ): void {
    if (wasReset(lease, charged, replies, nowMs)) end(lease, nowMs);
    unspend(lease, back);
    // After a reset by this isolate nobody knows whether the charge came before it. The units lapse with their window.
    if (charged > 0 && nowMs > lease.worthlessToMs && !isOver(lease))
      addCharge(lease, charged, stocked, nowMs, replies);
    // A newer reply may be known already: late replies arrive out of order. After a step of a clock nobody can know
    // that: the lease has been dropped, and its waiting requests are told what this reply tells.
    if (nowMs < lease.repliedAtMs && leases.get(lease.key)?.includes(lease)) return;
    lease.chargedPerMs = chargedPerMs(lease, replies, nowMs);
    lease.left = leftBy(lease, replies, nowMs);
    lease.repliedAtMs = nowMs;
    lease.replies = replies;
    lease.ownPart = ownPart(lease, replies, nowMs);
  }

  return {
    inStock,
    spend,
    unspend,
    grant,
    wasReset,

    find,

    of(request) {
      const found = find(request);
      if (found) return found;
      const { key, limits } = request;
      const same = leases.get(key) ?? [];
      const windowMs = Math.min(...limits.map((limit) => algorithmOf(limit).lease?.windowMs(limit) ?? 0));
      const allowedPerMs = limits.map((limit) => limit.limit / (algorithmOf(limit).capacity?.(limit).windowMs ?? 1));
      const lease: LeaseState = {
        key,
        limits,
        lifeMs: leasedMs(windowMs),
        pauseMs: Math.min(PAUSE_MS, windowMs * PAUSE_PART),
        callMs: 0,
        grants: [],
        charged: undefined,
        worthlessToMs: 0,
        sinceReset: resets,
        replies: undefined,
        repliedAtMs: 0,
        left: 0,
        mostUnits: mostUnits(limits, leasedMs(windowMs)),
        // Until two replies have told more: as much as the limits allow.
        chargedPerMs: Math.min(...allowedPerMs),
        ownPart: 0,
        demand: 0,
        demandAtMs: 0,
        requests: 0,
        seenMs: 0,
        latest: 0,
        waiting: 0,
        calledAtMs: undefined,
        pausedUntilMs: 0,
        tendedUntilMs: 0,
      };
      leases.set(key, [lease, ...same.slice(0, MAX_LEASES_OF_KEY - 1)]);
      return lease;
    },

    addDemand(lease: LeaseState, units, localAtMs) {
      const kept = keptPart(lease, localAtMs);
      lease.seenMs = kept && lease.seenMs * kept + memoryMs(lease) * (1 - kept);
      lease.demand = lease.demand * kept + units;
      lease.demandAtMs = localAtMs;
      lease.requests = lease.requests * kept + 1;
      lease.latest = units;
    },

    addWaiting(lease: LeaseState, units) {
      lease.waiting += units;
    },

    isLow: (lease, localAtMs) =>
      localAtMs >= lease.pausedUntilMs && isLow(lease, inStock(lease, localAtMs), localAtMs, earliestMs(localAtMs)),

    isCalling({ calledAtMs }, localAtMs) {
      return calledAtMs !== undefined && Math.abs(localAtMs - calledAtMs) < FORGOTTEN_MS;
    },

    request(lease: LeaseState, caller, localAtMs, ahead) {
      const reserved = spend(lease, caller.cost, localAtMs);
      const needed = caller.cost - sumOf(reserved);
      const target = ahead ? wanted(lease, localAtMs, earliestMs(localAtMs)) - inStock(lease, localAtMs) : 0;
      const left = lease.replies ? leftBy(lease, lease.replies, arrivesAtMs(lease, localAtMs)) : 0;
      const free = Math.max(0, left - needed);
      // Without units in stock, each waiting request would make a call: half of what remains is for them. The part
      // ahead of demand is smaller.
      const waitingPart = Math.max(LARGEST_WAITING_SHARE, lease.ownPart);
      const waiting = ahead ? Math.min(lease.waiting, Math.ceil(free * waitingPart)) : 0;
      const share = waiting + Math.ceil((free - waiting) * Math.max(LARGEST_SHARE, lease.ownPart));
      const forStock = isOver(lease) ? 0 : Math.max(0, Math.min(target, share));
      lease.calledAtMs = localAtMs;
      return {
        lease,
        caller,
        key: { ...caller, cost: needed + forStock },
        needed,
        forStock,
        reserved,
        isShort: lease.replies !== undefined && forStock < Math.min(target, leastWanted(lease, localAtMs)) * SHORT_PART,
      };
    },

    settle(request: RequestState, answer, replies, localAtMs) {
      const { lease, needed, forStock, reserved, isShort } = request;
      if (replies && lease.calledAtMs !== undefined) lease.callMs = Math.max(0, localAtMs - lease.calledAtMs);
      lease.calledAtMs = undefined;
      const { allowed, late, nowMs } = answer ?? {};
      const back = allowed && !late ? [] : reserved;
      const charged = allowed ? needed + forStock : 0;
      if (replies) book(lease, replies, nowMs!, charged, late ? charged : forStock, back);
      else unspend(lease, back);
      // A refusal of a call that also asked for the stock is no reason to pause: the request asks again for fewer
      // units. While much is left, a refusal is no reason either: others have charged since the last reply, and the
      // next call asks for less.
      const isEnough = lease.left >= Math.max(1, leastWanted(lease, localAtMs) * SHORT_PART);
      const asksAgain = forStock > 0 && (needed > 0 || isEnough);
      const refused = replies?.some((reply) => reply.refused) && !asksAgain;
      if (!isOver(lease) && (refused || (allowed && isShort))) lease.pausedUntilMs = localAtMs + lease.pauseMs;
    },

    settleLate({ lease, forStock }: RequestState, { allowed, nowMs }, replies) {
      book(lease, replies, nowMs, allowed ? forStock : 0, forStock, []);
    },

    views(lease, nowMs, told = lease.replies!) {
      const grants = stockOf(lease as LeaseState);
      return lease.limits.map((limit, l) => {
        const { recall, lease } = algorithmOf(limit);
        const { view } = recall(told[l]!.view, limit, nowMs, 1, 1)!;
        return grants.reduce(
          (counted, { units, bucketAtMs, endsAtMs }) =>
            endsAtMs > nowMs ? lease!.without(counted, limit, units, bucketAtMs) : counted,
          view,
        );
      });
    },

    unused(lease: LeaseState, localAtMs, buckets) {
      const atMs = latestMs(localAtMs);
      const kept: Grant[] = [];
      // Units that end at the same instant were charged in the same buckets.
      const unused = new Map<number, { units: number; bucketAtMs: number }>();
      let needed = wanted(lease, localAtMs, earliestMs(localAtMs));
      const stock = stockOf(lease);
      const areKept = sumOf(stock) - needed <= mayKeep(lease, localAtMs);
      for (const grant of stock) {
        const { units, chargedAtMs, bucketAtMs, endsAtMs } = grant;
        const bucket = unused.get(endsAtMs) ?? { units: 0, bucketAtMs };
        const isDue = Math.min(endsAtMs, grant.reviewedAtMs) <= atMs && (unused.has(endsAtMs) || unused.size < buckets);
        const needs = areKept ? units : Math.min(units, Math.max(0, needed));
        const keep = !isDue ? units : endsAtMs <= atMs ? 0 : needs;
        needed -= keep;
        const reviewedAtMs = isDue ? atMs + lease.lifeMs : grant.reviewedAtMs;
        if (keep > 0) kept.push({ ...grant, units: keep, reviewedAtMs });
        if (keep === units) continue;
        bucket.units += units - keep;
        unused.set(endsAtMs, bucket);
        if (lease.charged && chargedAtMs >= lease.charged.firstAtMs) lease.charged.units -= units - keep;
      }
      lease.grants = kept;
      return [...unused.values()];
    },

    reviewAfterMs(lease, localAtMs) {
      const grants = stockOf(lease as LeaseState);
      if (grants.length === 0) return undefined;
      const atMs = clock.at(localAtMs)?.latestMs;
      if (atMs === undefined) return 0;
      return Math.max(
        0,
        Math.min(...grants.map(({ endsAtMs, reviewedAtMs }) => Math.min(endsAtMs, reviewedAtMs))) - atMs,
      );
    },

    tend(lease: LeaseState, untilMs) {
      lease.tendedUntilMs = untilMs;
    },

    end,

    forget(keys) {
      resets++;
      for (const key of keys) {
        for (const lease of leases.get(key) ?? []) end(lease, 0);
        leases.delete(key);
        lastReset.set(key, resets);
      }
    },

    clear: () => leases.clear(),
  };
}

function sumOf(grants: readonly Grant[]): number {
  return grants.reduce((sum, { units }) => sum + units, 0);
}
