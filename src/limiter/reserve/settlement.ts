/** From what a reservation has charged and what was used to the calls that settle the difference. */

import { algorithmOf, type LimitSpec } from "../../core/algorithms.ts";
import { isConcurrency } from "../../core/concurrency.ts";
import { Flag, Kind, MAX_UNITS } from "../../core/layout.ts";
import type { KeyRequest } from "../../core/take.ts";
import type { Background } from "../../isolate/reply-source.ts";
import type { Charge, Settle } from "../decide.ts";

/**
 * Units that were reserved in several buckets of a window go back in a call for each bucket, the newest first. The
 * units of older buckets lapse with their window.
 */
const MAX_CALLS = 5;

interface Call {
  readonly at: unknown;
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
  const calls: Call[] = [];
  /** What each key still gets back. */
  const unused = new Map<string, number>();

  function put({ settle, slot, atMs, at = settle }: Charge, request: KeyRequest): void {
    const { key, limits, flag, cost } = request;
    if (limits.length === 0) return;
    const areSlots = limits.every(isConcurrency);
    for (const call of calls) {
      if (call.at !== at) continue;
      const other = call.keys.get(key);
      if (other && (flag !== Flag.giveBack || other.flag !== flag || !isSameBucket(limits, other.atMs!, atMs)))
        continue;
      const both = other && {
        limits: areSlots ? [...other.limits, ...limits] : other.limits,
        cost: areSlots ? other.cost : Math.min(MAX_UNITS, other.cost + cost),
      };
      call.keys.set(key, { ...request, atMs, ...other, ...both });
      // An extension holds no slots.
      call.slot ||= slot;
      return;
    }
    if (areSlots || calls.length < MAX_CALLS)
      calls.push({ at, settle, slot, keys: new Map([[key, { ...request, atMs }]]) });
  }

  // The newest first: what was charged last leaves its window last.
  for (const charge of charges.toReversed()) {
    for (const { policy, request } of charge.keys) {
      const left = unused.get(request.key) ?? unusedOf(policy.name);
      const back = Math.min(left, request.cost);
      unused.set(request.key, Math.max(0, left - back));
      const limits = request.limits.filter((limit) => !isConcurrency(limit));
      const flag = back < 0 ? Flag.chargeAnyway : Flag.giveBack;
      if (back !== 0) put(charge, { ...request, limits, flag, cost: Math.abs(back) });
      const slots = request.limits.filter(isConcurrency);
      if (charge.slot && request.cost > 0) put(charge, { ...request, limits: slots, flag: Flag.giveBack, cost: 1 });
    }
  }
  const settled = calls.map(({ settle, slot, keys }) => {
    return settle({ keys: [...keys.values()], flag: Flag.giveBack, ...(slot && { slot }) }, background);
  });
  await Promise.all(settled);
}

/** Whether two instants lie in the same bucket. A log has a bucket for each instant. Slots have none. */
function isSameBucket(limits: readonly LimitSpec[], oneMs: number, otherMs: number): boolean {
  return limits.every((limit) => {
    const [bucketMs] = algorithmOf(limit).encode(limit);
    const isSame = Math.floor(oneMs / bucketMs) === Math.floor(otherMs / bucketMs);
    return isConcurrency(limit) || (limit.kind === Kind.log ? oneMs === otherMs : isSame);
  });
}
