/**
 * A request over several places, in parts: what is asked of each place, what comes back, the replies as one decision,
 * and what a place gets back of a charge because another place has refused.
 */

import { isConcurrency } from "../../core/concurrency.ts";
import type { Decision, Source } from "../../core/decision.ts";
import { ENFORCED, Flag, type KeyRequest } from "../../core/take.ts";
import { chargedInVain } from "../../isolate/charged-in-vain.ts";
import type { Isolate } from "../../isolate/isolate.ts";
import { keepAlive, type ReplySource } from "../../isolate/reply-source.ts";
import { holdSlots } from "../../isolate/slots.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import { type Asked, decideAll, type KeysReply, type PolicyKey } from "../decide.ts";

/** The keys of a request that lie in one place; in a Redis Cluster, those that lie in one of its hash slots. */
export interface Part {
  /** The position of the place. */
  readonly place: number;
  readonly isolate: Isolate;
  readonly keys: readonly PolicyKey[];
  /** The requests of `keys`, the same objects. */
  readonly requests: readonly KeyRequest[];
  /** The last number that the isolate had given away when the decision began. */
  readonly begun: number;
}

/** A reply to a part: of its place, or of the isolate's own counters while the place has no answer. */
export interface PartReply extends KeysReply {
  readonly part: Part;
  readonly requests: readonly KeyRequest[];
  /** Where the reply comes from, and where it is undone. */
  readonly replies: Pick<ReplySource, "take">;
}

/** A place that had no answer. */
export interface Unanswered {
  readonly part: Part;
  readonly failure: StoreFailure;
}

/** The answer that all replies together give. */
export function combine(replies: readonly KeysReply[], unanswered: readonly Unanswered[], flag: Flag): Decision {
  const source = sourceOf(replies, unanswered);
  // The isolate's own counters do not have the numbers of the place. Clients see them only with the source `fallback`.
  return decideAll(source, replies, flag, (reply) => reply.source === "fallback" && source !== "fallback");
}

/**
 * The source that is furthest away of those that have decided: a place, then the own counters in its stead, then leased
 * units, then memory. A refusal is decided by those that refuse. A reply about policies in shadow alone decides only if
 * there is no other reply.
 */
function sourceOf(replies: readonly KeysReply[], unanswered: readonly Unanswered[]): Source {
  const refusing = replies.filter(({ reply }) => !reply.allowed);
  const all = [...replies, ...unanswered.map(({ part }) => ({ keys: part.keys, source: "fallback" as Source }))];
  const enforced = all.filter(({ keys }) => keys.some(({ request }) => request.group === ENFORCED));
  const deciding = [refusing, enforced, all].find(({ length }) => length > 0)!;
  return deciding.map(({ source }) => source).reduce((a, b) => (distanceOf(b) > distanceOf(a) ? b : a));
}

function distanceOf(source: Source): number {
  const nearest = ["cache", "lease", "shared", "fallback"];
  const at = nearest.indexOf(source);
  return at < 0 ? nearest.length : at;
}

/**
 * Gives back what one place has charged. Units of a key that was reset since the decision began are not given back: the
 * reset may have removed them. Slots are: a slot has the number of its request, and no other request loses it. Never
 * rejects because of a place.
 *
 * @param isKept whether what was charged for a group stays charged. @param asked whose time the call shares.
 */
export async function undo(
  { part, requests, replies, reply, returnUnits }: PartReply,
  isKept: (group: number) => boolean,
  { slot, background, notes }: Pick<Asked, "slot" | "background" | "notes">,
): Promise<void> {
  const { isolate, begun } = part;
  const keys = chargedInVain(requests, reply, isKept).flatMap((one) => {
    const limits = isolate.wasReset(one.key, begun) ? one.limits.filter(isConcurrency) : one.limits;
    return limits.length > 0 ? [{ ...one, limits }] : [];
  });
  if (keys.length === 0) return;
  if (returnUnits) return returnUnits(new Set(keys.map(({ group }) => group)));
  try {
    await replies.take({ keys, flag: Flag.giveBack, atMs: reply.nowMs, slot }, undefined, undefined, notes);
  } catch (error) {
    failureOf(error);
    // Units lapse with their window. A slot would be held until its timeout: it is given back later.
    const hold = slot ? holdSlots(keys, { replies, slot, releaseLater: isolate.releaseLater }) : undefined;
    // The next attempt does not wait for a second call.
    if (hold) keepAlive(hold.release(), background);
  }
}
