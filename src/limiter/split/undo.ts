/** Gives back what a place has charged although another place has refused. */

import { BoundedMap } from "../../bounded-map.ts";
import { isConcurrency } from "../../core/concurrency.ts";
import { Flag } from "../../core/take.ts";
import { chargedInVain } from "../../isolate/repay/charged-in-vain.ts";
import { holdSlots } from "../../isolate/slots.ts";
import { failureOf } from "../../store/failure.ts";
import type { PartReply } from "./part.ts";

/** Keys that were reset lately. */
const MAX_RESETS = 1_000;

/**
 * Gives back what one place has charged. Never rejects because of a place.
 *
 * @param isKept whether what was charged for a group stays charged.
 */
type Undo = (reply: PartReply, isKept: (group: number) => boolean, slot: number) => Promise<void>;

interface Undoing {
  /**
   * A decision begins. Units of a key that is reset from now on are not given back for it: the reset may have removed
   * them. Slots are: a slot has the number of its request, and no other request loses it.
   */
  begin(): Undo;
  /** These keys are being reset, or were reset just now. */
  wereReset(keys: readonly string[]): void;
}

export function createUndoing(): Undoing {
  let resets = 0;
  /** By key: the number of its last reset. */
  const lastReset = new BoundedMap<string, number>({ maxSize: MAX_RESETS });

  async function undo(
    { part, requests, replies, reply, unspend }: PartReply,
    isKept: (group: number) => boolean,
    slot: number,
    resetsBefore: number,
  ): Promise<void> {
    const keys = chargedInVain(requests, reply, isKept).flatMap((one) => {
      const wasReset = (lastReset.get(one.key) ?? 0) > resetsBefore;
      const limits = wasReset ? one.limits.filter(isConcurrency) : one.limits;
      return limits.length > 0 ? [{ ...one, limits }] : [];
    });
    if (keys.length === 0) return;
    // All policies of a leased request are enforced: nothing of it stays.
    if (unspend) return unspend();
    try {
      await replies.take({ keys, flag: Flag.giveBack, atMs: reply.nowMs, slot });
    } catch (error) {
      failureOf(error);
      // Units lapse with their window. A slot would be held until its timeout: it is given back later.
      if (slot) await holdSlots(keys, { replies, slot, unreleased: part.isolate.unreleased })?.release();
    }
  }

  return {
    begin() {
      const resetsBefore = resets;
      return (reply, isKept, slot) => undo(reply, isKept, slot, resetsBefore);
    },
    wereReset(keys) {
      resets++;
      for (const key of keys) lastReset.set(key, resets);
    },
  };
}
