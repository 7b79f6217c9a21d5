// What a client is told about one limit after a take.

import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import type { TakeReply } from "../../../src/kernel/core/take.ts";
import { firstStatus } from "../../../src/testing/store-case.ts";

/** The same in the shape of the vectors. `retryAfterMs` null: never. */
export function told(reply: TakeReply, limit: LimitSpec, cost: number) {
  const { remaining, retryAfterMs = null, resetAfterMs } = firstStatus(reply, limit, cost);
  return { allowed: reply.allowed, remaining, retryAfterMs, resetAfterMs };
}
