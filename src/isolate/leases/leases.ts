/**
 * Units that this isolate has taken from the store ahead of demand, and what it knows of the demand. Plain data: instants
 * and replies go in, what to ask for comes out (leasing.ts asks).
 *
 * A unit that is held has been charged, so no more than the limit is ever handed out. How many are held follows from the
 * recent rate of a key (lease-size.ts): what is not spent soon is given back.
 */

import { BoundedMap } from "../../bounded-map.ts";
import type { LimitView } from "../../core/algorithms.ts";
import { leasedMs } from "../../core/far-algorithm.ts";
import { farAlgorithmOf } from "../../core/far-algorithms.ts";
import type { KeyRequest, LimitReply } from "../../core/take.ts";
import type { StoreClock } from "../store-clock.ts";
import type { Grant, Lease, LeaseAnswer, LeaseAsk, Unused } from "./lease.ts";
import { isLow, leastWanted, remaining, wanted } from "./lease-size.ts";

/** A key of one window takes about 1.2 KiB: 24 MiB of the 128 MiB that an isolate has, in two generations (Node 24, 2026-11). */
const MAX_KEYS = 10_000;
/** Of what remains nobody takes a larger part, so that the others find some too. */
const LARGEST_SHARE = 1 / 3;
/** Getting less than this part of what would be held if there were nearly nothing is a short grant. */
const SHORT_PART = 0.5;
/** After a short grant nothing is asked for this long, or for this part of the window if that is shorter. */
const HELD_BACK_MS = 250;
const HELD_BACK_PART = 1 / 40;
/** An ask that has not come back by then was ended with its request. */
const FORGOTTEN_MS = 1_000;

export interface Leases {
  of(request: KeyRequest): Lease;
  /** Counts what a request wants. */
  want(lease: Lease, units: number, localAtMs: number): void;
  /** Units that may be spent. */
  held(lease: Lease, localAtMs: number): number;
  /** Spends units that are held. */
  spend(lease: Lease, units: number, localAtMs: number): readonly Grant[];
  /** Whether it is time to ask for more in the background. */
  isLow(lease: Lease, localAtMs: number): boolean;
  isAsking(lease: Lease, localAtMs: number): boolean;
  /** What to ask for: what the request needs beside what is held for it, and with `ahead` also units to hold. */
  ask(lease: Lease, key: KeyRequest, localAtMs: number, ahead: boolean): LeaseAsk;
  /** The answer to an ask, none if its outcome is not known; the key's replies if the key was asked for at all. */
  settle(
    ask: LeaseAsk,
    answer: LeaseAnswer | undefined,
    replies: readonly LimitReply[] | undefined,
    localAtMs: number,
  ): void;
  /**
   * Whether the store tells less than this isolate has charged: somebody has reset the key, and what was leased before is over.
   *
   * @param units charged with this very reply. @param nowMs when the store looked.
   */
  wasReset(lease: Lease, units: number, replies: readonly LimitReply[], nowMs: number): boolean;
  /** The counts that were told last, or these, at an instant of the store, without what is held. */
  views(lease: Lease, nowMs: number, replies?: readonly LimitReply[]): readonly LimitView[];
  /** What nobody needs any more, of so many buckets at most; it is not held after this. */
  unused(lease: Lease, localAtMs: number, buckets: number): readonly Unused[];
  /** Until the next time to ask for what is not used, in ms; undefined: nothing is held. */
  reviewAfterMs(lease: Lease, localAtMs: number): number | undefined;
  /** Nothing that is held is worth anything. */
  end(lease: Lease): void;
  /** The same of these keys, and what is on its way to them neither. */
  forget(keys: readonly string[]): void;
  clear(): void;
}

export function createLeases(clock: StoreClock): Leases {
  const leases = new BoundedMap<string, Lease>({ maxSize: MAX_KEYS });

  const earliestMs = (localAtMs: number) => clock.at(localAtMs)?.earliestMs;
  /** Nothing may be spent unless the store's clock is known. */
  const latestMs = (localAtMs: number) => clock.at(localAtMs)?.latestMs ?? Number.POSITIVE_INFINITY;

  function held({ grants }: Lease, localAtMs: number): number {
    const atMs = latestMs(localAtMs);
    return grants.reduce((sum, { units, endsAtMs }) => (endsAtMs > atMs ? sum + units : sum), 0);
  }

  function spend(lease: Lease, units: number, localAtMs: number): Grant[] {
    const atMs = latestMs(localAtMs);
    let left = units;
    const spent: Grant[] = [];
    for (const grant of lease.grants) {
      const part = grant.endsAtMs > atMs ? Math.min(left, grant.units) : 0;
      if (part === 0) continue;
      grant.units -= part;
      left -= part;
      spent.push({ ...grant, units: part });
    }
    lease.grants = lease.grants.filter(({ units }) => units > 0);
    return spent;
  }

  function wasReset({ charged, limits }: Lease, units: number, replies: readonly LimitReply[], nowMs: number): boolean {
    // A reply from before the last charge does not know of it.
    if (!charged || nowMs <= charged.lastAtMs || nowMs >= charged.endsAtMs) return false;
    return limits.some((limit, l) => {
      const { lease } = farAlgorithmOf(limit);
      return lease!.inBucket !== undefined && lease!.inBucket(replies[l]!.view) < charged.units + units;
    });
  }

  function end(lease: Lease): void {
    lease.grants = [];
    lease.charged = undefined;
  }

  return {
    held,
    spend,
    wasReset,

    of({ key, limits }) {
      const known = leases.get(key);
      if (known) return known;
      const windowMs = Math.min(...limits.map((limit) => farAlgorithmOf(limit).lease?.windowMs(limit) ?? 0));
      const lease: Lease = {
        key,
        limits,
        lifeMs: leasedMs(windowMs),
        heldBackForMs: Math.min(HELD_BACK_MS, windowMs * HELD_BACK_PART),
        askMs: 0,
        grants: [],
        charged: undefined,
        isOver: false,
        replies: undefined,
        demand: 0,
        demandAtMs: 0,
        latest: 0,
        waiting: 0,
        askedAtMs: undefined,
        heldBackUntilMs: 0,
        tendedUntilMs: 0,
      };
      leases.set(key, lease);
      return lease;
    },

    want(lease, units, localAtMs) {
      const ageMs = Math.max(0, localAtMs - lease.demandAtMs);
      lease.demand = lease.demand * Math.exp(-ageMs / lease.lifeMs) + units;
      lease.demandAtMs = localAtMs;
      lease.latest = units;
    },

    isLow: (lease, localAtMs) =>
      localAtMs >= lease.heldBackUntilMs && isLow(lease, held(lease, localAtMs), localAtMs, earliestMs(localAtMs)),

    isAsking({ askedAtMs }, localAtMs) {
      return askedAtMs !== undefined && Math.abs(localAtMs - askedAtMs) < FORGOTTEN_MS;
    },

    ask(lease, key, localAtMs, ahead) {
      const reserved = spend(lease, key.cost, localAtMs);
      const own = key.cost - reserved.reduce((sum, { units }) => sum + units, 0);
      const target = ahead ? wanted(lease, localAtMs, earliestMs(localAtMs)) - held(lease, localAtMs) : 0;
      const free = Math.max(0, remaining(lease, earliestMs(localAtMs)) - own);
      // Whoever waits would else ask for itself: of what remains, half may go to them, and a smaller part ahead of demand.
      const waiting = ahead ? Math.min(lease.waiting, Math.ceil(free / 2)) : 0;
      const share = waiting + Math.ceil((free - waiting) * LARGEST_SHARE);
      const extra = lease.isOver ? 0 : Math.max(0, Math.min(target, share));
      lease.askedAtMs = localAtMs;
      return {
        lease,
        key: { ...key, cost: own + extra },
        own,
        extra,
        reserved,
        isShort: lease.replies !== undefined && extra < Math.min(target, leastWanted(lease)) * SHORT_PART,
      };
    },

    settle({ lease, own, extra, reserved, isShort }, answer, replies, localAtMs) {
      if (replies && lease.askedAtMs !== undefined) lease.askMs = Math.max(0, localAtMs - lease.askedAtMs);
      lease.askedAtMs = undefined;
      if (replies) lease.replies = replies;
      // Whether it was charged before or after the reset is not known: it lapses with its window.
      if (lease.isOver) return;
      const charged = answer?.allowed && replies ? own + extra : 0;
      if (answer && replies && wasReset(lease, charged, replies, answer.nowMs)) {
        end(lease);
      } else if (!answer?.allowed || answer.late) {
        lease.grants.push(...reserved);
      }
      if (answer && charged > 0) {
        const { nowMs: chargedAtMs } = answer;
        const ends = lease.limits.map((limit) => farAlgorithmOf(limit).lease!.endsAtMs(limit, chargedAtMs));
        const endsAtMs = Math.min(...ends);
        const reviewedAtMs = chargedAtMs + lease.lifeMs;
        const units = answer.late ? charged : extra;
        if (units > 0) lease.grants.push({ units, chargedAtMs, endsAtMs, reviewedAtMs });
        if (!lease.charged || lease.charged.endsAtMs <= chargedAtMs) {
          lease.charged = { units: charged, firstAtMs: chargedAtMs, lastAtMs: chargedAtMs, endsAtMs };
        } else {
          lease.charged.units += charged;
          lease.charged.lastAtMs = Math.max(lease.charged.lastAtMs, chargedAtMs);
        }
      }
      // What was too much together with units to hold is asked for again, less.
      const refused = replies?.some((reply) => reply.refused) && !(own > 0 && extra > 0);
      if (refused || (answer?.allowed && isShort)) lease.heldBackUntilMs = localAtMs + lease.heldBackForMs;
    },

    views({ limits, replies, grants }, nowMs, told = replies!) {
      return limits.map((limit, l) => {
        const { recall, lease } = farAlgorithmOf(limit);
        const { view } = recall(told[l]!.view, limit, nowMs, 1, 1)!;
        return grants.reduce(
          (counted, { units, chargedAtMs, endsAtMs }) =>
            endsAtMs > nowMs ? lease!.without(counted, limit, units, chargedAtMs) : counted,
          view,
        );
      });
    },

    unused(lease, localAtMs, buckets) {
      const atMs = latestMs(localAtMs);
      const kept: Grant[] = [];
      // What ends at the same instant was charged in the same buckets.
      const unused = new Map<number, { units: number; chargedAtMs: number }>();
      let needed = wanted(lease, localAtMs, earliestMs(localAtMs));
      for (const grant of lease.grants) {
        const { units, chargedAtMs, endsAtMs } = grant;
        const bucket = unused.get(endsAtMs) ?? { units: 0, chargedAtMs };
        const isDue = Math.min(endsAtMs, grant.reviewedAtMs) <= atMs && (unused.has(endsAtMs) || unused.size < buckets);
        const keep = !isDue ? units : endsAtMs <= atMs ? 0 : Math.min(units, Math.max(0, needed));
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

    reviewAfterMs({ grants }, localAtMs) {
      if (grants.length === 0) return undefined;
      const atMs = clock.at(localAtMs)?.latestMs;
      if (atMs === undefined) return 0;
      return Math.max(
        0,
        Math.min(...grants.map(({ endsAtMs, reviewedAtMs }) => Math.min(endsAtMs, reviewedAtMs))) - atMs,
      );
    },

    end,

    forget(keys) {
      for (const key of keys) {
        const lease = leases.get(key);
        if (!lease) continue;
        // Requests that wait, and whoever looks after it, still hold the lease itself.
        end(lease);
        lease.isOver = true;
        leases.delete(key);
      }
    },

    clear: () => leases.clear(),
  };
}
