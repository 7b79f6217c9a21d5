/** The calls that settle a reservation: the difference between what it has charged and what was used. */

import { algorithmOf } from "../../core/algorithms.ts";
import { isConcurrency, withoutSlots } from "../../core/concurrency.ts";
import { Flag, MAX_UNITS } from "../../core/layout.ts";
import type { KeyRequest } from "../../core/take.ts";
import type { Background } from "../../isolate/reply-source.ts";
import type { Charge, Settle } from "../decide.ts";

/**
 * How many calls to one place run at once. A reservation of many buckets takes many calls, and a Worker opens at most 6
 * connections at once (Cloudflare, 2026-11).
 */
const CALLS_AT_ONCE = 5;

type Change = Pick<KeyRequest, "limits" | "atMs">;

/** What one place has to settle. */
interface PlaceChanges {
  readonly settle: Settle;
  /** The number of the request if it holds slots there. */
  slot: number;
  /**
   * By key. No key may be in one call twice: the second change of a key goes into the second call. Units that were
   * reserved in several buckets take a call for each bucket.
   */
  readonly changes: Map<string, KeyRequest[]>;
}

/**
 * Settles, in one call for each place if all units of a key were reserved in one bucket.
 *
 * @param unusedOf what a policy gets back; negative: what it is charged.
 */
export async function settleCharges(
  charges: readonly Charge[],
  unusedOf: (policy: string) => number,
  background: Background | undefined,
): Promise<void> {
  const places = new Map<unknown, PlaceChanges>();
  /** What each key still gets back. */
  const unused = new Map<string, number>();

  // The newest first: what was charged last leaves its window last.
  for (const { keys, settle, at = settle, atMs, slot } of charges.toReversed()) {
    const place = places.get(at) ?? { settle, slot, changes: new Map<string, KeyRequest[]>() };
    places.set(at, place);
    // An extension holds no slots.
    place.slot ||= slot;
    for (const { policy, request: charged } of keys) {
      const { once, ...request } = charged;
      const { key, cost } = request;
      const left = unused.get(key) ?? unusedOf(policy.name);
      const back = Math.min(left, cost);
      unused.set(key, Math.max(0, left - back));
      const changes = place.changes.get(key) ?? [];
      place.changes.set(key, changes);
      const last = changes.at(-1);
      // Giving a part back does not undo the request: its id stays.
      const id = once && back === cost && { once };
      const units = { ...request, ...id, limits: withoutSlots(request.limits), atMs };
      if (last?.flag === Flag.giveBack && back > 0 && areSameBuckets(last, units)) {
        changes.splice(-1, 1, { ...last, ...id, cost: Math.min(MAX_UNITS, last.cost + back) });
      } else if (back !== 0 && units.limits.length > 0) {
        changes.push({ ...units, flag: back < 0 ? Flag.chargeAnyway : Flag.giveBack, cost: Math.abs(back) });
      }
      const slots = slot && cost > 0 ? request.limits.filter(isConcurrency) : [];
      if (slots.length === 0) continue;
      const [first] = changes;
      if (first?.flag === Flag.giveBack) changes[0] = { ...first, limits: [...first.limits, ...slots] };
      else changes.unshift({ ...request, limits: slots, atMs, flag: Flag.giveBack, cost: 1 });
    }
  }
  const settled = [...places.values()].map(async ({ settle, slot, changes }) => {
    const byKey = [...changes.values()];
    const callsAfter = async (call: number): Promise<void> => {
      const keys = byKey.flatMap((own) => own[call] ?? []);
      if (keys.length === 0) return;
      await settle({ keys, flag: Flag.giveBack, slot }, background);
      await callsAfter(call + CALLS_AT_ONCE);
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, (_, call) => callsAfter(call)));
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
    one.keys.every(({ request }, k) => {
      const same = other.keys[k]!.request;
      return request.key === same.key && areSameBuckets({ atMs: one.atMs, ...request }, { atMs: other.atMs, ...same });
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

/** Whether two changes are of the same buckets of the same limits. */
function areSameBuckets(one: Change, other: Change): boolean {
  return (
    one.limits.length === other.limits.length && one.limits.every((_, l) => bucketOf(one, l) === bucketOf(other, l))
  );
}

function bucketOf({ limits, atMs }: Change, l: number): number {
  const limit = limits[l]!;
  return algorithmOf(limit).bucketAt?.(limit, limit.atMs ?? atMs ?? 0) ?? 0;
}
