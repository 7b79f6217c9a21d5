/** From what becomes of charges to the requests that a store gets. Pure, but for the calls themselves. */

import { isConcurrency, withoutSlots } from "../core/concurrency.ts";
import { hashTagOf } from "../core/layout.ts";
import { Flag, type KeyRequest, type TakeRequest } from "../core/take.ts";
import { groupBy } from "../group-by.ts";
import { slotsOf } from "./slots.ts";
import type { Change, Charge } from "./taker.ts";

/**
 * How many calls to one place run at once. A reservation of many buckets takes many calls, and a Worker opens at most 6
 * connections at once (Cloudflare, 2026-11).
 */
const CALLS_AT_ONCE = 5;

/** Makes the calls that settle these changes, some of them at once. @param areApart as for `callsFor`. */
export async function makeCalls(
  changes: readonly Change[],
  areApart: boolean,
  make: (request: TakeRequest) => Promise<void>,
): Promise<void> {
  const calls = callsFor(changes, areApart);
  const callsAfter = async (at: number): Promise<void> => {
    if (at >= calls.length) return;
    await make(calls[at]!);
    await callsAfter(at + CALLS_AT_ONCE);
  };
  await Promise.all(calls.slice(0, CALLS_AT_ONCE).map((_, at) => callsAfter(at)));
}

/**
 * The calls to make. No key may be in one call twice: its second change goes into the second call.
 *
 * @param areApart a Redis Cluster runs a call over the keys of one hash slot only.
 */
function callsFor(changes: readonly Change[], areApart: boolean): TakeRequest[] {
  const slot = changes.find(({ charge }) => charge.slot !== 0)?.charge.slot ?? 0;
  const groups = areApart ? groupBy(changes, ({ charge }) => hashTagOf(charge.receipt.key)) : [["", changes] as const];
  return groups.flatMap(([, own]) => {
    const byKey = groupBy(own.flatMap(requestsFor), ({ key }) => key).map(([, requests]) => requests);
    const length = Math.max(0, ...byKey.map((requests) => requests.length));
    return Array.from({ length }, (_, n) => {
      return { keys: byKey.flatMap((requests) => requests[n] ?? []), flag: Flag.giveBack, slot };
    });
  });
}

/** One request for a change. Two if units are charged and slots go back. */
function requestsFor({ charge: { receipt, slot }, back, frees }: Change): KeyRequest[] {
  const { once, ...request } = receipt;
  const limits = withoutSlots(receipt.limits);
  const slots = frees && slot && receipt.cost > 0 ? receipt.limits.filter(isConcurrency) : [];
  if (back > 0 && limits.length > 0) {
    // Giving a part back does not undo the request: its id stays.
    const id = once && back === receipt.cost && { once };
    return [{ ...request, ...id, limits: [...limits, ...slots], flag: Flag.giveBack, cost: back }];
  }
  const requests: KeyRequest[] = slots.length > 0 ? [{ ...request, limits: slots, flag: Flag.giveBack, cost: 1 }] : [];
  if (back < 0 && limits.length > 0) requests.push({ ...request, limits, flag: Flag.chargeAnyway, cost: -back });
  return requests;
}

/** The keys that are charged more, or those that get something back. */
export function keysWith({ keys, flag: common }: TakeRequest, isMore: boolean): KeyRequest[] {
  return keys.filter(({ flag = common }) => (flag === Flag.chargeAnyway) === isMore);
}

/** What renews slots. Other limits under the same keys do not change. */
export function renewal(charges: readonly Charge[]): TakeRequest {
  const keys = slotsOf(charges.map(({ receipt: { once: _, ...request } }) => request));
  return { keys, flag: Flag.chargeAnyway, slot: charges[0]!.slot };
}
