/**
 * A request over several places, in parts: what is asked of each place, what comes back, the replies as one decision,
 * and what a place gets back of a charge because another place has refused.
 */

import { BoundedMap } from "../../bounded-map.ts";
import { isConcurrency } from "../../core/concurrency.ts";
import { type Decision, decide, type Source } from "../../core/decision.ts";
import { ENFORCED, Flag, type KeyRequest } from "../../core/take.ts";
import type { Isolate } from "../../isolate/isolate.ts";
import { chargedInVain } from "../../isolate/repay/charged-in-vain.ts";
import type { ReplySource } from "../../isolate/reply-source.ts";
import { holdSlots } from "../../isolate/slots.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import { type KeysReply, limitDecisions, type PolicyKey } from "../decide.ts";

/** The keys of a request that lie in one place; in a Redis Cluster, those that lie in one of its hash slots. */
export interface Part {
  /** The position of the place. */
  readonly place: number;
  readonly isolate: Isolate;
  readonly keys: readonly PolicyKey[];
  /** The requests of `keys`, the same objects. */
  readonly requests: readonly KeyRequest[];
}

/** A reply to a part: of its place, or of the isolate's own counters while the place has no answer. */
export interface PartReply extends KeysReply {
  readonly part: Part;
  readonly requests: readonly KeyRequest[];
  /** Where the reply comes from, and where it is undone. */
  readonly replies: ReplySource;
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
  const shown = source === "fallback" ? replies : replies.filter((reply) => reply.source !== "fallback");
  return decide(source, limitDecisions(shown, flag));
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
  const at = ["cache", "lease", "fallback"].indexOf(source);
  return at < 0 ? 3 : at;
}

/** Keys that were reset lately. */
const MAX_RESETS = 1_000;

/** Gives back what places have charged for nothing, unless their keys were reset meanwhile. */
export class Undoing {
  #resets = 0;
  /** By key: the number of its last reset. */
  readonly #lastReset = new BoundedMap<string, number>({ maxSize: MAX_RESETS });

  /**
   * A decision begins. Units of a key that is reset from now on are not given back for it: the reset may have removed
   * them. Slots are: a slot has the number of its request, and no other request loses it.
   *
   * @returns gives back what one place has charged, and never rejects because of a place. Its `isKept` says whether
   * what was charged for a group stays charged.
   */
  begin(): (reply: PartReply, isKept: (group: number) => boolean, slot: number) => Promise<void> {
    const resetsBefore = this.#resets;
    return async (reply, isKept, slot) => {
      const keys = chargedInVain(reply.requests, reply.reply, isKept).flatMap((one) => {
        const wasReset = (this.#lastReset.get(one.key) ?? 0) > resetsBefore;
        const limits = wasReset ? one.limits.filter(isConcurrency) : one.limits;
        return limits.length > 0 ? [{ ...one, limits }] : [];
      });
      await giveBack(keys, reply, slot);
    };
  }

  /** These keys are being reset, or were reset just now. */
  wereReset(keys: readonly string[]): void {
    this.#resets++;
    for (const key of keys) this.#lastReset.set(key, this.#resets);
  }
}

async function giveBack(keys: readonly KeyRequest[], from: PartReply, slot: number): Promise<void> {
  if (keys.length === 0) return;
  const { part, reply, replies, unspend } = from;
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
