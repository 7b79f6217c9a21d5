// What a client is told about one limit after a take.

import type { Told } from "../../../src/core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../../../src/core/algorithms.ts";
import type { TakeReply } from "../../../src/core/take.ts";

/** What the reply says about the first limit of the first key. */
export function toldBy({ nowMs, keys }: TakeReply, limit: LimitSpec, cost: number): Told {
  const { refused, view } = keys[0]![0]!;
  return algorithmOf(limit).tell(view, limit, cost, refused, nowMs);
}

/** The same in the shape of the vectors. `retryAfterMs` null: never. */
export function told(reply: TakeReply, limit: LimitSpec, cost: number) {
  const { remaining, retryAfterMs = null, resetAfterMs } = toldBy(reply, limit, cost);
  return { allowed: reply.allowed, remaining, retryAfterMs, resetAfterMs };
}
