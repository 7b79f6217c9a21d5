/** A Durable Object that serves one call at a time. It decides as the real one does; only its time is simulated. */

import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import type { VirtualTime } from "../../../test/support/virtual-time.ts";

/** A call that would wait longer than this in the queue is refused. Cloudflare documents no number. */
const MAX_QUEUED_MS = 10_000;

export interface SimulatedObject {
  /** One call, from its arrival at the object to its end. @throws {StoreError} `OVERLOADED`, at once. */
  take(request: TakeRequest): Promise<TakeReply>;
  /** The number of calls that have arrived. */
  readonly calls: number;
  /** For how long the object has worked until now, in ms. */
  readonly busyMs: number;
}

/** @param serviceMs how long one call keeps the object busy. */
export function simulatedObject(time: VirtualTime, serviceMs: number): SimulatedObject {
  const memory = memoryStore({ maxKeys: 1_000_000 });
  let [calls, givenMs, freeAtMs] = [0, 0, 0];

  return {
    get calls() {
      return calls;
    },
    get busyMs() {
      return givenMs - Math.max(0, freeAtMs - time.nowMs());
    },
    async take(request) {
      calls++;
      const beginsAtMs = Math.max(time.nowMs(), freeAtMs);
      if (beginsAtMs - time.nowMs() > MAX_QUEUED_MS) throw new StoreError("OVERLOADED");
      freeAtMs = beginsAtMs + serviceMs;
      givenMs += serviceMs;
      // Nobody takes a call out of the queue: the object serves it even if its caller has stopped waiting.
      await time.sleep(freeAtMs - time.nowMs());
      return await memory.take(request, Math.floor(time.nowMs()));
    },
  };
}
