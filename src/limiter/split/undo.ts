/** Gives back what a place has charged although another place has refused. */

import { isConcurrency } from "../../core/concurrency.ts";
import { Flag } from "../../core/take.ts";
import { chargedInVain } from "../../isolate/charged-in-vain.ts";
import { holdSlots } from "../../isolate/slots.ts";
import { failureOf } from "../../store/failure.ts";
import type { PartReply } from "./part.ts";

/**
 * Gives back what one place has charged. Units of a key that was reset since the decision began are not given back: the
 * reset may have removed them. Slots are: a slot has the number of its request, and no other request loses it. Never
 * rejects because of a place.
 *
 * @param isKept whether what was charged for a group stays charged.
 */
export async function undo(
  { part, requests, replies, reply, returnUnits }: PartReply,
  isKept: (group: number) => boolean,
  slot: number,
): Promise<void> {
  const { isolate, begun } = part;
  const keys = chargedInVain(requests, reply, isKept).flatMap((one) => {
    const limits = isolate.wasReset(one.key, begun) ? one.limits.filter(isConcurrency) : one.limits;
    return limits.length > 0 ? [{ ...one, limits }] : [];
  });
  if (keys.length === 0) return;
  // All policies of a leased request are enforced: nothing of it stays.
  if (returnUnits) return returnUnits();
  try {
    await replies.take({ keys, flag: Flag.giveBack, atMs: reply.nowMs, slot });
  } catch (error) {
    failureOf(error);
    // Units lapse with their window. A slot would be held until its timeout: it is given back later.
    if (slot) await holdSlots(keys, { replies, slot, releaseLater: isolate.releaseLater })?.release();
  }
}
