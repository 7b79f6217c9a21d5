/** For tests of programs: what isolates know of a store that a test has emptied is wrong. */

import { type Memory, newMemory } from "./memory.ts";

/** Weak, where the runtime has it: a program may make limiters again and again. */
let memories: { deref(): Memory | undefined }[] = [];

/** Notes a memory for `forgetIsolates`. */
export function forgettable(memory: Memory): Memory {
  memories = memories.filter((one) => one.deref() !== undefined);
  memories.push(typeof WeakRef === "function" ? new WeakRef(memory) : { deref: () => memory });
  return memory;
}

/**
 * Forgets what the limiters of this process or Worker instance remember of their stores: refusals, leases, their own
 * counts, and what they owe. For tests, after the store was emptied and no request is under way. The counts of a
 * `memoryStore` are a store's: make a new one.
 */
export function forgetIsolates(): void {
  for (const one of memories) {
    const memory = one.deref();
    // Numbers go on: what is under way must not be taken for what comes.
    if (!memory) continue;
    const { last, forgottenMs, events, losses } = memory;
    Object.assign(memory, newMemory(), { last, forgottenMs, events, losses });
  }
}
