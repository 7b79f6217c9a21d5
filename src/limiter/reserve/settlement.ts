/** The calls that settle a reservation: the difference between what it has charged and what was used. */

import { algorithmOf } from "../../core/algorithms.ts";
import { isConcurrency, withoutSlots } from "../../core/concurrency.ts";
import { Flag, Kind, MAX_UNITS } from "../../core/layout.ts";
import type { KeyRequest } from "../../core/take.ts";
import type { Background } from "../../isolate/reply-source.ts";
import type { Charge, Settle } from "../decide.ts";

/**
 * The most calls to one place. Units that were reserved in several buckets go back in a call for each bucket, the
 * newest first. The units of older buckets lapse with their window.
 */
const MAX_CALLS = 5;

/** What one place has to settle. */
interface Place {
  readonly settle: Settle;
  /** The number of the request if it holds slots there. */
  slot: number;
  /** By key. No key may be in one call twice: the second change of a key goes into the second call. */
  readonly changes: Map<string, KeyRequest[]>;
}

/** Settles, in one call for each place. @param unusedOf what a policy gets back; negative: what it is charged. */
export async function settleCharges(
  charges: readonly Charge[],
  unusedOf: (policy: string) => number,
  background: Background | undefined,
): Promise<void> {
  const places = new Map<unknown, Place>();
  /** What each key still gets back. */
  const unused = new Map<string, number>();

  // The newest first: what was charged last leaves its window last.
  for (const { keys, settle, at = settle, atMs, slot } of charges.toReversed()) {
    const place = places.get(at) ?? { settle, slot, changes: new Map<string, KeyRequest[]>() };
    places.set(at, place);
    // An extension holds no slots.
    place.slot ||= slot;
    for (const { policy, request } of keys) {
      const { key, cost } = request;
      const left = unused.get(key) ?? unusedOf(policy.name);
      const back = Math.min(left, cost);
      unused.set(key, Math.max(0, left - back));
      const changes = place.changes.get(key) ?? [];
      place.changes.set(key, changes);
      const last = changes.at(-1);
      const limits = withoutSlots(request.limits);
      if (last?.flag === Flag.giveBack && back > 0 && areSameBuckets(last.limits, last.atMs!, atMs)) {
        changes.splice(-1, 1, { ...last, cost: Math.min(MAX_UNITS, last.cost + back) });
      } else if (back !== 0 && limits.length > 0) {
        changes.push({
          ...request,
          limits,
          atMs,
          flag: back < 0 ? Flag.chargeAnyway : Flag.giveBack,
          cost: Math.abs(back),
        });
      }
      const slots = slot && cost > 0 ? request.limits.filter(isConcurrency) : [];
      if (slots.length === 0) continue;
      const [first] = changes;
      if (first?.flag === Flag.giveBack) changes[0] = { ...first, limits: [...first.limits, ...slots] };
      else changes.unshift({ ...request, limits: slots, atMs, flag: Flag.giveBack, cost: 1 });
    }
  }
  const settled = [...places.values()].flatMap(({ settle, slot, changes }) => {
    return Array.from({ length: MAX_CALLS }, async (_, call) => {
      const keys = [...changes.values()].flatMap((own) => own[call] ?? []);
      if (keys.length > 0) await settle({ keys, flag: Flag.giveBack, slot }, background);
    });
  });
  await Promise.all(settled);
}

/** Whether two charges are of the same buckets of the same keys. */
export function isSameCharge(one: Charge, other: Charge): boolean {
  return (
    one.settle === other.settle &&
    one.at === other.at &&
    one.slot === other.slot &&
    one.keys.length === other.keys.length &&
    one.keys.every(({ request: { key, limits } }, k) => {
      const same = other.keys[k]!.request;
      return key === same.key && limits.length === same.limits.length && areSameBuckets(limits, one.atMs, other.atMs);
    })
  );
}

/** The units of both. */
export function bothCharges(one: Charge, other: Charge): Charge {
  const keys = one.keys.map((key, k) => {
    const cost = Math.min(MAX_UNITS, key.request.cost + other.keys[k]!.request.cost);
    return { ...key, request: { ...key.request, cost } };
  });
  return { ...one, keys };
}

/** Whether two instants lie in the same bucket of each limit. A log has a bucket for each instant. */
function areSameBuckets(limits: KeyRequest["limits"], oneMs: number, otherMs: number): boolean {
  return limits.every((limit) => {
    const [ms] = algorithmOf(limit).encode(limit);
    const bucketMs = limit.kind === Kind.log ? 1 : ms;
    return Math.floor(oneMs / bucketMs) === Math.floor(otherMs / bucketMs);
  });
}
