/** The slots that a request holds under concurrency limits: how they are renewed and released, also when it is late. */

import { isConcurrency } from "../core/concurrency.ts";
import type { Hold } from "../core/decision.ts";
import { Flag, type KeyRequest, type TakeRequest } from "../core/take.ts";
import { failureOf, type StoreFailure } from "../store/failure.ts";
import type { SlotKey } from "./memory.ts";
import type { ReplySource } from "./reply-source.ts";

/** Where slots are renewed and released, and what happens to a slot that cannot be given back. */
export interface SlotOptions {
  readonly replies: Pick<ReplySource, "take">;
  /** The number of the request. */
  readonly slot: number;
  /** Gives slots back later. Absent: they free themselves after their timeout. */
  readonly giveBackLater?: ((request: TakeRequest, failure: StoreFailure) => void) | undefined;
}

/** The keys under which a charged request holds slots, with the limits that count them. */
export function slotsOf(keys: readonly KeyRequest[]): SlotKey[] {
  return keys.flatMap((request) => {
    const limits = request.limits.filter(isConcurrency);
    return limits.length > 0 && request.cost > 0 ? [{ ...request, limits }] : [];
  });
}

/** Renews and releases the slots of an admitted request. Other limits under the same keys do not change. */
export function holdSlots(
  keys: readonly KeyRequest[],
  { replies, slot, giveBackLater }: SlotOptions,
): Hold | undefined {
  const slotKeys = slotsOf(keys);
  if (slotKeys.length === 0) return undefined;
  return {
    renewEveryMs: Math.min(...timeoutsOf(slotKeys)) / 2,
    async renew() {
      try {
        await replies.take({ keys: slotKeys, flag: Flag.chargeAnyway, slot });
        return true;
      } catch (error) {
        // The store has no answer now, but it may have one for the next renewal.
        return failureOf(error).code !== "SUBREQUESTS";
      }
    },
    async release() {
      const request = { keys: slotKeys, flag: Flag.giveBack, slot };
      await replies.take(request).catch((error: unknown) => {
        giveBackLater?.(request, failureOf(error));
      });
    },
  };
}

/** The hold of a request with slots in two places: at two stores, or at one and in the isolate's own counters. */
export function bothHolds(one: Hold | undefined, other: Hold): Hold {
  if (!one) return other;
  return {
    renewEveryMs: Math.min(one.renewEveryMs, other.renewEveryMs),
    renew: async () => (await Promise.all([one.renew(), other.renew()])).every(Boolean),
    release: async () => void (await Promise.all([one.release(), other.release()])),
  };
}

/**
 * The number of a request that may hold slots: 53 random bits, so that no two requests in flight share it. 0: the
 * request holds no slots.
 */
export function slotFor(keys: readonly Pick<KeyRequest, "limits">[], flag: Flag): number {
  const holds = flag === Flag.take && keys.some(({ limits }) => limits.some(isConcurrency));
  return holds ? randomSlot() : 0;
}

function randomSlot(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! >>> 11) * 2 ** 32 + low!;
}

function timeoutsOf(keys: readonly SlotKey[]): number[] {
  return keys.flatMap(({ limits }) => limits.map(({ timeoutMs }) => timeoutMs));
}
