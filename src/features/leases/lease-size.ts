/**
 * How many units of a key an isolate should lease, and when to ask for more. It is enough that few requests wait, and
 * not more: leased units cannot be spent elsewhere. How scarce units are follows from what is left, as the
 * last reply told it, and from this isolate's part of what all isolates charge. Pure.
 *
 * The numbers were found by simulation (npm run simulate; docs/decisions/0004-leases.md).
 */

import { algorithmOf, type LimitSpec } from "../../kernel/core/algorithms.ts";
import type { LimitReply } from "../../kernel/core/take.ts";
import type { Lease } from "../../kernel/place/lease.ts";
import { leftBy } from "../../kernel/place/own-part.ts";
import type { Now } from "../../kernel/place/store-clock.ts";

/** After this many lives of a lease, demand weighs 1/e as much. At most the remembered demand is leased. */
const REMEMBERED_LIVES = 14;
/** After a silence in which demand came to weigh less than this, the rate is measured anew. */
const FORGOTTEN_PART = 0.05;
/**
 * What all isolates charge is averaged over this many lives of a lease: about one window, unless the window is long.
 */
const AVERAGED_LIVES = 20;
/** A key has gone quiet after this many mean gaps between requests without one, and this many lives. */
const QUIET_GAPS = 4;
const QUIET_LIVES = 1;
/**
 * The leased units, relative to the isolate's share of what is left. Above 1, because what is left no longer includes
 * what other isolates have leased.
 */
const LEASED_SHARES = 2;
/**
 * The share of an isolate with a small part of the traffic grows with the square root of the part, times this: a lease
 * in proportion to the rate would hold too few units to save a call.
 */
const SMALL_SHARE = 0.25;
/** If nearly nothing is left, leased units last for this part of a lease's life. */
const SCARCE_PART = 0.3;
/** Unused units stay leased if they are no more than these, or than what is spent within so many lives of a lease. */
const FEW_UNITS = 3;
const SOON_LIVES = 10;
/**
 * Leased units last for at most this part of the time until all units end, in all isolates at once: at that moment
 * unspent units are missing, until they have gone back.
 */
const PART_UNTIL_END = 0.85;
/** The largest part of a limit that is leased, if its window is much longer than the demand that is remembered. */
const LONG_WINDOW_PART = 1 / 20;

export const memoryMs = ({ lifeMs }: Lease): number => REMEMBERED_LIVES * lifeMs;

/** The weight of the remembered demand at an instant, 0 to 1. */
export function keptPart(lease: Lease, localAtMs: number): number {
  const part = Math.exp(-Math.max(0, localAtMs - lease.demandAtMs) / memoryMs(lease));
  return part < FORGOTTEN_PART ? 0 : part;
}

/** How many units should be leased. @param waiting the units that requests wait for. */
export function wanted(lease: Lease, waiting: number, { localAtMs, earliestMs }: Now): number {
  const known = rateOf(lease, localAtMs);
  if (known === 0) return waiting;
  // A waiting demand may have been one burst: the larger its part, the less it tells about the demand to come.
  const rate = (known * known) / (known + waiting / lease.lifeMs);
  const most = Math.min(lease.mostUnits, rate * Math.min(seenMs(lease, localAtMs), lastsMs(lease, earliestMs)));
  const ahead = Math.max(rate * lease.lifeMs * SCARCE_PART, LEASED_SHARES * shareOf(lease, rate));
  return waiting + Math.floor(spentMeanwhile(lease, rate) + Math.min(most, ahead));
}

/** How many units should be leased if nearly nothing remains. @param waiting as for `wanted`. */
export function leastWanted(lease: Lease, waiting: number, localAtMs: number): number {
  const rate = rateOf(lease, localAtMs);
  return waiting + spentMeanwhile(lease, rate) + rate * lease.lifeMs * SCARCE_PART;
}

/** Whether it is time to ask for more: the leased units would run out before the answer arrives. */
export function isLow(lease: Lease, leased: number, waiting: number, now: Now): boolean {
  // Nearly every request ends here.
  if (leased - waiting >= spentMeanwhile(lease, rateOf(lease, now.localAtMs))) return false;
  return wanted(lease, waiting, now) >= 2;
}

/**
 * How many units may stay leased beyond those that are wanted. As long as much is left, nobody misses them. A call that
 * returns a few units, or units that would be spent soon, costs more than it saves: they are often asked for again.
 */
export function mayKeep(lease: Lease, localAtMs: number): number {
  const rate = rateOf(lease, localAtMs);
  if (rate === 0) return 0;
  return Math.max(FEW_UNITS, rate * lease.lifeMs * SOON_LIVES, shareOf(lease, rate));
}

/**
 * The units per ms that all isolates charge, updated with a new reply. The lease must still hold the reply before it.
 */
export function chargedPerMs(lease: Lease, replies: readonly LimitReply[], nowMs: number): number {
  const afterMs = nowMs - lease.repliedAtMs;
  if (!lease.replies || afterMs <= 0) return lease.chargedPerMs;
  const charged = leftBy(lease, lease.replies, nowMs) - leftBy(lease, replies, nowMs);
  const kept = Math.exp(-afterMs / (AVERAGED_LIVES * lease.lifeMs));
  return lease.chargedPerMs * kept + (charged / afterMs) * (1 - kept);
}

/** The part of what all have charged in the present bucket that this isolate has charged. 0: not known. */
export function ownPart({ limits, charged }: Lease, replies: readonly LimitReply[], nowMs: number): number {
  // The bucket of these charges has ended. In the present one nothing is charged yet.
  if (charged && charged.endsAtMs <= nowMs) return 0;
  const parts = limits.map((limit, l) => {
    const all = algorithmOf(limit).lease!.inBucket?.(replies[l]!.view) ?? 0;
    return charged && all > 0 ? Math.min(1, charged.units / all) : 0;
  });
  return Math.min(...parts);
}

/** The time in which the remembered demand came. */
function seenMs(lease: Lease, localAtMs: number): number {
  const kept = keptPart(lease, localAtMs);
  return Math.max(lease.lifeMs, lease.seenMs * kept + memoryMs(lease) * (1 - kept));
}

/** The units per ms that requests of this isolate need, without the latest request. */
function rateOf(lease: Lease, localAtMs: number): number {
  const { demand, latest, requests, lifeMs, demandAtMs } = lease;
  // The mean gap between requests; a request may need several units. The silence since the latest request does not
  // count: the mean gap would grow with it, and the key would go quiet too late.
  const gapMs = seenMs(lease, demandAtMs) / (requests - 1);
  if (demand <= latest || localAtMs - demandAtMs > QUIET_LIVES * lifeMs + QUIET_GAPS * gapMs) return 0;
  return Math.max(0, demand * keptPart(lease, localAtMs) - latest) / seenMs(lease, localAtMs);
}

/** The part of what is left that an isolate with this rate may call its own. */
function shareOf({ left, units, chargedPerMs }: Lease, rate: number): number {
  if (rate === 0) return 0;
  const part = rate / Math.max(rate, chargedPerMs);
  const all = units.reduce((sum, one) => sum + one.units, left);
  return all * Math.max(part, SMALL_SHARE * Math.sqrt(part));
}

/** How many units will be spent during a call. Small numbers vary more (Poisson: by their square root). */
function spentMeanwhile({ callMs }: Lease, rate: number): number {
  const mean = rate * callMs;
  return mean + Math.sqrt(mean);
}

/**
 * The most units that are leased at once. An isolate may end at any time, and its leased units then lapse with their
 * window. In a short window that is soon.
 */
export function mostUnits(limits: readonly LimitSpec[], lifeMs: number): number {
  const each = limits.map((limit) => {
    const { units, windowMs } = algorithmOf(limit).capacity(limit);
    return units * Math.max(LONG_WINDOW_PART, (LEASED_SHARES * REMEMBERED_LIVES * lifeMs) / windowMs);
  });
  return Math.min(...each);
}

/** How long units that are charged at this instant of the store should last, in ms. */
function lastsMs({ limits }: Lease, nowMs: number | undefined): number {
  if (nowMs === undefined) return 0;
  const each = limits.map((limit) => {
    const { endsAtMs, inBucket } = algorithmOf(limit).lease!;
    return (endsAtMs(limit, nowMs) - nowMs) * (inBucket ? PART_UNTIL_END : 1);
  });
  return Math.min(...each);
}
