/** The calls that settle a reservation: the difference between what it has charged and what was used. */

import { algorithmOf } from "../../core/algorithms.ts";
import { isConcurrency, withoutSlots } from "../../core/concurrency.ts";
import { Flag, MAX_UNITS } from "../../core/layout.ts";
import type { KeyRequest } from "../../core/take.ts";
import type { Background } from "../../isolate/reply-source.ts";
import type { Charge, PolicyKey, Settle } from "../decide.ts";

/**
 * How many calls to one place run at once. A reservation of many buckets takes many calls, and a Worker opens at most 6
 * connections at once (Cloudflare, 2026-11).
 */
const CALLS_AT_ONCE = 5;

/** What one place has charged under one key, in one bucket of each of its limits. */
export interface KeyCharge extends Omit<Charge, "keys"> {
  readonly key: PolicyKey;
}

/** Adds a charge. A long stream has thousands of extensions: those of the same buckets become one. */
export function addCharge(all: KeyCharge[], { keys, ...charge }: Charge): void {
  for (const key of keys) {
    const added = { ...charge, key };
    const at = all.findIndex((one) => areSameBuckets(one, added));
    const known = all[at]?.key;
    if (known) {
      const cost = Math.min(MAX_UNITS, known.request.cost + key.request.cost);
      all[at] = { ...all[at]!, key: { ...known, request: { ...known.request, cost } } };
    } else all.push(added);
  }
}

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
  charges: readonly KeyCharge[],
  unusedOf: (policy: string) => number,
  background: Background | undefined,
): Promise<void> {
  const places = new Map<unknown, PlaceChanges>();
  /** What each key still gets back. */
  const unused = new Map<string, number>();

  // The newest first: what was charged last leaves its window last.
  for (const { key: charged, settle, at = settle, atMs, slot } of charges.toReversed()) {
    const place = places.get(at) ?? { settle, slot, changes: new Map<string, KeyRequest[]>() };
    places.set(at, place);
    // An extension holds no slots.
    place.slot ||= slot;
    const { once, ...request } = charged.request;
    const { key, cost } = request;
    const left = unused.get(key) ?? unusedOf(charged.policy.name);
    const back = Math.min(left, cost);
    unused.set(key, Math.max(0, left - back));
    const changes = place.changes.get(key) ?? [];
    place.changes.set(key, changes);
    const limits = withoutSlots(request.limits);
    if (back !== 0 && limits.length > 0) {
      // Giving a part back does not undo the request: its id stays.
      const id = once && back === cost && { once };
      const flag = back < 0 ? Flag.chargeAnyway : Flag.giveBack;
      changes.push({ ...request, ...id, limits, atMs, flag, cost: Math.abs(back) });
    }
    const slots = slot && cost > 0 ? request.limits.filter(isConcurrency) : [];
    if (slots.length === 0) continue;
    const [first] = changes;
    if (first?.flag === Flag.giveBack) changes[0] = { ...first, limits: [...first.limits, ...slots] };
    else changes.unshift({ ...request, limits: slots, atMs, flag: Flag.giveBack, cost: 1 });
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

/** Whether two charges are of the same key and of the same buckets. The slots of a key are only in its first charge. */
function areSameBuckets(one: KeyCharge, other: KeyCharge): boolean {
  if (one.settle !== other.settle || one.at !== other.at || one.key.request.key !== other.key.request.key) return false;
  const [buckets, others] = [bucketsOf(one), bucketsOf(other)];
  return buckets.length === others.length && buckets.every((bucket, l) => bucket === others[l]);
}

function bucketsOf({ key, atMs }: KeyCharge): number[] {
  const limits = withoutSlots(key.request.limits);
  return limits.map((limit) => algorithmOf(limit).bucketAt(limit, limit.atMs ?? atMs));
}
