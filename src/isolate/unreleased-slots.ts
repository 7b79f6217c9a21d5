/** Slots that could not be given back because the store had no answer. They are given back when it answers again. */

import type { Memory, SlotKey, UnreleasedSlots } from "./memory.ts";

/** Beyond this number the oldest are dropped: they free themselves after their timeout. */
const MAX_SLOTS = 1_000;
/** Each is one call. */
const CALLS_PER_DECISION = 5;

/** @param nowMs by the local clock, ms since the epoch. */
export function addUnreleased(memory: Memory, keys: readonly SlotKey[], slot: number, nowMs: number): void {
  const timeouts = keys.flatMap(({ limits }) => limits.map(({ timeoutMs }) => timeoutMs));
  putUnreleased(memory, { keys, slot, freeAtMs: nowMs + Math.max(...timeouts) });
}

function putUnreleased(memory: Memory, slots: UnreleasedSlots): void {
  memory.slots.push(slots);
  if (memory.slots.length > MAX_SLOTS) memory.slots.shift();
}

/** Takes some of them out, to give them back with one call each. */
export function takeUnreleased(memory: Memory, nowMs: number): UnreleasedSlots[] {
  if (memory.slots.length === 0) return [];
  memory.slots = memory.slots.filter(({ freeAtMs }) => freeAtMs > nowMs);
  return memory.slots.splice(0, CALLS_PER_DECISION);
}

/** Their call has failed. @param isRefused the store works, and has refused this call. */
export function putBackUnreleased(memory: Memory, slots: UnreleasedSlots, isRefused: boolean): void {
  if (!isRefused) putUnreleased(memory, slots);
  // One key may be the reason, or they lie in several hash slots of a Redis Cluster. A key that is refused alone would
  // be refused again.
  else if (slots.keys.length > 1) for (const key of slots.keys) putUnreleased(memory, { ...slots, keys: [key] });
}
