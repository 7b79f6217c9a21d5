/** Slots that could not be given back because the store had no answer. They are given back when it answers again. */

import type { ConcurrencyLimit } from "../../core/concurrency.ts";
import { Flag, type KeyRequest } from "../../core/take.ts";
import { failureOf } from "../../store/failure.ts";
import type { Takes } from "../store-calls.ts";

/** Beyond this number the oldest are dropped: they free themselves after their timeout. */
const MAX_SLOTS = 1_000;
/** Each slot is one call. */
const CALLS_PER_DECISION = 5;

/** A key with its concurrency limits alone. */
export interface SlotKey extends KeyRequest {
  readonly limits: readonly ConcurrencyLimit[];
}

/** The slots of one request. */
interface Slot {
  readonly keys: readonly SlotKey[];
  /** The request's number. */
  readonly slot: number;
  /** When the slots free themselves, by the local clock, ms since the epoch. */
  readonly freeAtMs: number;
}

export interface UnreleasedSlots {
  readonly size: number;
  /** @param nowMs by the local clock, ms since the epoch. */
  add(keys: readonly SlotKey[], slot: number, nowMs: number): void;
  /**
   * Gives some slots back. Giving back a slot that was never taken does nothing. Never rejects because of the store.
   */
  release(store: Takes, nowMs: number): Promise<void>;
}

export function createUnreleasedSlots(): UnreleasedSlots {
  let slots: Slot[] = [];

  function put(slot: Slot): void {
    slots.push(slot);
    if (slots.length > MAX_SLOTS) slots.shift();
  }

  return {
    add(keys, slot, nowMs) {
      const timeouts = keys.flatMap(({ limits }) => limits.map(({ timeoutMs }) => timeoutMs));
      put({ keys, slot, freeAtMs: nowMs + Math.max(...timeouts) });
    },
    get size() {
      return slots.length;
    },
    async release(store, nowMs) {
      slots = slots.filter(({ freeAtMs }) => freeAtMs > nowMs);
      const now = slots.splice(0, CALLS_PER_DECISION);
      const give = async (one: Slot) => {
        await store.take({ keys: one.keys, flag: Flag.giveBack, slot: one.slot }).catch((error: unknown) => {
          const { isReply, code } = failureOf(error);
          // Another request may still make calls.
          if (!isReply || code === "SUBREQUESTS") put(one);
          // One key may be the reason, or they lie in several slots of a Redis Cluster. A key that is refused alone
          // would be refused again.
          else if (one.keys.length > 1) for (const key of one.keys) put({ ...one, keys: [key] });
        });
      };
      await Promise.all(now.map(give));
    },
  };
}
