/**
 * What the store has missed while it had no answer: units that were admitted without it, and slots that were not given
 * back to it.
 */

import type { Decision, Hold } from "../../core/decision.ts";
import { Flag, type KeyRequest, type TakeReply } from "../../core/take.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import type { Background } from "../reply-source.ts";
import { holdSlots, type SlotOptions } from "../slots.ts";
import type { Takes } from "../store-calls.ts";
import type { Debts } from "./debts.ts";
import type { UnreleasedSlots } from "./unreleased-slots.ts";

/** How the store was called, and what keeps work alive after the answer. */
export interface NoteOptions extends SlotOptions {
  readonly background?: Background | undefined;
}

export interface MissedByStore {
  /**
   * Notes a take that was decided without the store. What the store surely has not charged is charged later. What the
   * store has charged for a refused request is given back. Slots that the store may have given are given back when the
   * request has ended, or at once if the request was refused.
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
      const { slot, background } = options;
      const owe = () => {
        if (decision.allowed) debts.add(keys, Date.now());
      };
      if (notRun) {
        owe();
        return decision;
      }
      const late = timeout?.answer.then(async (reply) => {
        if (!reply) return;
        if (!reply.allowed) owe();
        // The store has charged, but the isolate has refused: the client must not pay.
        else if (!decision.allowed) await giveBack(calls, timeout?.asked ?? keys, reply, slot);
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
async function giveBack(calls: Takes, asked: readonly KeyRequest[], reply: TakeReply, slot: number): Promise<void> {
  const refused = new Set(
    asked.flatMap(({ group }, k) => (reply.keys[k]!.some((limit) => limit.refused) ? [group] : [])),
  );
  const charged = asked.filter(({ group, cost }) => cost > 0 && !refused.has(group));
  if (charged.length === 0) return;
  await calls.take({ keys: charged, flag: Flag.giveBack, atMs: reply.nowMs, slot }).catch(failureOf);
}

/**
 * The hold of a request with slots in two places: in the isolate's own counters, which admitted it, and at the store.
 */
function bothHolds(here: Hold | undefined, atStore: Hold): Hold {
  if (!here) return atStore;
  return {
    renewEveryMs: Math.min(here.renewEveryMs, atStore.renewEveryMs),
    renew: async () => (await Promise.all([here.renew(), atStore.renew()])).every(Boolean),
    release: async () => void (await Promise.all([here.release(), atStore.release()])),
  };
}
