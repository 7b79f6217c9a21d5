/** From what a reservation has charged and what was used to the calls that settle the difference. */

import { isConcurrency } from "../../core/concurrency.ts";
import { Flag, Kind, MAX_UNITS } from "../../core/layout.ts";
import type { KeyRequest } from "../../core/take.ts";
import type { Background } from "../../isolate/reply-source.ts";
import type { Charge, Settle } from "../decide.ts";

/**
 * A reservation that was extended in many buckets of a window needs a call for each bucket that gets units back. The
 * newest come first; units of older buckets lapse with their window.
 */
const MAX_CALLS = 5;

interface Call {
  readonly settle: Settle;
  /** The number of the request if the call gives slots back. */
  slot: number;
  /** By key: no key may be in one call twice. */
  readonly keys: Map<string, KeyRequest>;
}

/** Settles, in one call for each place. @param unusedOf what a policy gets back; negative: what it is charged. */
export async function settleCharges(
  charges: readonly Charge[],
  unusedOf: (policy: string) => number,
  background: Background | undefined,
): Promise<void> {
  const calls = new Map<unknown, Call[]>();

  /** Adds to a call of this place. @param most how many calls there may be. */
  function put({ settle, slot, at }: Charge, request: KeyRequest, most = MAX_CALLS): void {
    const ofPlace = calls.get(at) ?? [];
    calls.set(at, ofPlace);
    for (const call of ofPlace) {
      const other = call.keys.get(request.key);
      const merged = other && mergeOf(other, request);
      if (other && !merged) continue;
      call.keys.set(request.key, merged ?? request);
      // An extension holds no slots.
      call.slot ||= slot;
      return;
    }
    if (ofPlace.length < most) ofPlace.push({ settle, slot, keys: new Map([[request.key, request]]) });
  }

  /** What each key still has to get back, or to be charged; own counters count beside the store. */
  const open = new Map<string, number>();
  // The newest first: what was charged last leaves its window last.
  for (const charge of charges.toReversed()) {
    for (const { policy, request } of charge.keys) {
      const name = `${charge.isOwn} ${request.key}`;
      const unused = open.get(name) ?? unusedOf(policy.name);
      const change = Math.min(unused, request.cost);
      open.set(name, Math.max(0, unused - change));
      const limits = request.limits.filter((limit) => !isConcurrency(limit));
      const flag = change < 0 ? Flag.chargeAnyway : Flag.giveBack;
      if (change !== 0 && limits.length > 0) {
        put(charge, { ...request, limits, flag, cost: Math.abs(change), atMs: charge.atMs });
      }
    }
  }
  for (const charge of charges) {
    for (const { request } of charge.slot ? charge.keys : []) {
      const limits = request.limits.filter(isConcurrency);
      const slots = { ...request, limits, flag: Flag.giveBack, cost: 1, atMs: charge.atMs };
      if (limits.length > 0 && request.cost > 0) put(charge, slots, Number.POSITIVE_INFINITY);
    }
  }
  const settled = [...calls.values()].flat().map(({ settle, slot, keys }) => {
    return settle({ keys: [...keys.values()], flag: Flag.giveBack, ...(slot && { slot }) }, background);
  });
  await Promise.all(settled);
}

/** Two changes of one key as one: what goes back to the same buckets, and units and slots that go back. */
function mergeOf(one: KeyRequest, other: KeyRequest): KeyRequest | undefined {
  if (one.flag !== Flag.giveBack || other.flag !== Flag.giveBack) return undefined;
  if (other.limits.every(isConcurrency)) return { ...one, limits: [...one.limits, ...other.limits] };
  const cost = one.cost + other.cost;
  return cost <= MAX_UNITS && bucketsOf(one) === bucketsOf(other) ? { ...one, cost } : undefined;
}

/** The buckets of the limits in which an instant lies. A log has a bucket for each instant, a token bucket has none. */
function bucketsOf({ limits, atMs = 0 }: KeyRequest): string {
  const numbers = limits.map((limit) => {
    if ("bucketMs" in limit) return Math.floor(atMs / limit.bucketMs);
    return limit.kind === Kind.fixedWindow ? Math.floor(atMs / limit.windowMs) : limit.kind === Kind.log ? atMs : 0;
  });
  return `${numbers}`;
}
