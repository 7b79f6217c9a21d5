/**
 * What the store has missed while it had no answer: units that were admitted without it, and slots that were not given
 * back to it.
 */

import type { Decision } from "../../core/decision.ts";
import { Flag, type KeyRequest, type TakeReply } from "../../core/take.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import type { Background } from "../reply-source.ts";
import { bothHolds, holdSlots, type SlotOptions } from "../slots.ts";
import type { Takes } from "../store-calls.ts";
import { chargedInVain } from "./charged-in-vain.ts";
import type { Debts } from "./debts.ts";
import type { UnreleasedSlots } from "./unreleased-slots.ts";

/** How the store was called, and what keeps work alive after the answer. */
export interface NoteOptions extends SlotOptions {
  readonly background?: Background | undefined;
  /** Groups that another place has refused: nothing is to stay charged for them. Absent: none. */
  readonly refusedGroups?: ReadonlySet<number>;
}

export interface MissedByStore {
  /**
   * Notes a take that was decided without the store. What the store surely has not charged is charged later. What the
   * store has charged for a refused request, or for a refused group, is given back. Slots that the store may have given
   * are given back when the request has ended, or at once if the request was refused.
   *
   * @returns the decision. Its hold also renews and releases the slots at the store.
   */
  note(decision: Decision, keys: readonly KeyRequest[], failure: StoreFailure, options: NoteOptions): Decision;
  /** The store answers again: tells it some of what it missed. */
  tell(background: Background | undefined): void;
}

export function createMissedByStore(calls: Takes, debts: Debts, unreleased: UnreleasedSlots): MissedByStore {
  return {
    note(decision, keys, { notRun, timeout }, options) {
      const { slot, background, refusedGroups } = options;
      const owe = () => {
        if (decision.allowed) debts.add(keys, Date.now());
      };
      if (notRun) {
        owe();
        return decision;
      }
      const late = timeout?.answer.then(async (reply) => {
        if (!reply) return;
        if (!reply.allowed) return owe();
        // The store has charged, but the request was refused here or elsewhere: the client must not pay.
        const isKept = (group: number) => decision.allowed && !refusedGroups?.has(group);
        await giveBack(calls, chargedInVain(timeout?.asked ?? keys, reply, isKept), reply, slot);
      });
      const atStore = slot ? holdSlots(keys, options) : undefined;
      const release = async () => {
        // The release must reach the store after the take.
        await late;
        await atStore?.release();
      };
      if (atStore && decision.allowed) return { ...decision, hold: bothHolds(decision.hold, { ...atStore, release }) };
      if (atStore || late) {
        const released = release();
        background?.waitUntil(released);
      }
      return decision;
    },

    tell(background) {
      const told = [
        ...(debts.size > 0 ? [debts.repay(calls, Date.now())] : []),
        ...(unreleased.size > 0 ? [unreleased.release(calls, Date.now())] : []),
      ];
      if (told.length > 0) background?.waitUntil(Promise.all(told));
    },
  };
}

/** Gives back what a late reply shows as charged. If that fails, the units lapse with their window. */
async function giveBack(calls: Takes, keys: readonly KeyRequest[], { nowMs }: TakeReply, slot: number): Promise<void> {
  if (keys.length > 0) await calls.take({ keys, flag: Flag.giveBack, atMs: nowMs, slot }).catch(failureOf);
}
