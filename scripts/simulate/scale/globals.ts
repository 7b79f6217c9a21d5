/** Time, timers, randomness and hashing of the whole process, replaced while a simulation runs. */

import { createHash } from "node:crypto";
import type { VirtualTime } from "../../../test/support/virtual-time.ts";

/**
 * Runs `work` with virtual `Date.now`, `setTimeout` and `clearTimeout`, with seeded `Math.random`, and with hashes that
 * are there at once: the code of src/ runs as it is in a Worker, breaker and time budgets included, and the same seed
 * gives the same run.
 */
export async function withVirtualGlobals<T>(
  time: VirtualTime,
  random: () => number,
  work: () => Promise<T>,
): Promise<T> {
  const { setTimeout, clearTimeout } = globalThis;
  const { now } = Date;
  const { random: realRandom } = Math;
  const { stackTraceLimit } = Error;
  const subtle = SubtleCrypto.prototype;
  const { sign, importKey } = subtle;
  const cancelled = new Set<number>();
  let timers = 0;

  Object.assign(globalThis, {
    setTimeout(run: () => void, ms = 0) {
      const timer = ++timers;
      time.at(time.nowMs() + ms, () => {
        if (!cancelled.delete(timer)) run();
      });
      return timer;
    },
    clearTimeout(timer: number | undefined) {
      if (timer !== undefined) cancelled.add(timer);
    },
  });
  Date.now = () => Math.floor(time.nowMs());
  Math.random = random;
  // An overloaded object makes hundreds of thousands of errors, and nobody reads their stacks.
  Error.stackTraceLimit = 0;
  subtle.importKey = async () => ({}) as CryptoKey;
  subtle.sign = async (_algorithm, _key, data) => {
    const digest = createHash("sha256")
      .update(data as Uint8Array)
      .digest();
    return new Uint8Array(digest).buffer;
  };
  try {
    return await work();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Date.now = now;
    Math.random = realRandom;
    Error.stackTraceLimit = stackTraceLimit;
    Object.assign(subtle, { sign, importKey });
  }
}
