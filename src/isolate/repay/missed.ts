/** What the store has missed while it had no answer: units that were admitted without it, and slots that it was not given back. */

import type { Decision, Hold } from "../../core/decision.ts";
import { Flag, type KeyRequest, type TakeReply } from "../../core/take.ts";
import type { Background } from "../reply-source.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import type { Store } from "../../store/store.ts";
import type { AskOptions, PolicyKey } from "../../limiter/decide.ts";
import { holdOf } from "../slots.ts";
import type { Owed } from "./debts.ts";
import type { Unreleased } from "./unreleased-slots.ts";

export interface Missed {
  /**
   * Notes a take that was decided without the store. What the store surely has not charged is charged later. What it has charged for
   * a refused request is given back. Slots that it may have given are given back when the request has ended, or at once if it was
   * refused.
   *
   * @returns the decision, whose hold holds the slots at the store too.
   */
  note(decision: Decision, keys: readonly PolicyKey[], failure: StoreFailure, asked: AskOptions): Decision;
  /** The store answers again: it hears some of what it missed. */
  tell(background: Background | undefined): void;
}

export function createMissed(store: Store, owed: Owed, unreleased: Unreleased): Missed {
  return {
    note(decision, keys, { notRun, timeout }, asked) {
      const { slot, background } = asked;
      const requests = keys.map(({ request }) => request);
      const owe = () => {
        if (decision.allowed) owed.add(requests, Date.now());
      };
      if (notRun) {
        owe();
        return decision;
      }
      const late = timeout?.answer.then(async (reply) => {
        if (!reply) return;
        if (!reply.allowed) owe();
        // Charged, and refused without the store: the client must not pay.
        else if (!decision.allowed) await giveBack(store, timeout?.asked ?? requests, reply, slot);
      });
      const atStore = slot ? holdOf(keys, new Set(), asked) : undefined;
      const release = async () => {
        // The store must hear of the release after it has heard of the take.
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
        ...(owed.size > 0 ? [owed.repay(store, Date.now())] : []),
        ...(unreleased.size > 0 ? [unreleased.release(store, Date.now())] : []),
      ];
      if (told.length > 0) background?.waitUntil(Promise.all(told));
    },
  };
}

/** Gives back what a late reply says was charged. If that fails, the units lapse with their window. */
async function giveBack(store: Store, asked: readonly KeyRequest[], reply: TakeReply, slot: number): Promise<void> {
  const refused = new Set(
    asked.flatMap(({ group }, k) => (reply.keys[k]!.some((limit) => limit.refused) ? [group] : [])),
  );
  const charged = asked.filter(({ group, cost }) => cost > 0 && !refused.has(group));
  if (charged.length === 0) return;
  await store.take({ keys: charged, flag: Flag.giveBack, atMs: reply.nowMs, slot }).catch(failureOf);
}

/** One request that may hold slots in two places: in the isolate's own counters, which admitted it, and at the store. */
function bothHolds(here: Hold | undefined, atStore: Hold): Hold {
  if (!here) return atStore;
  return {
    renewEveryMs: Math.min(here.renewEveryMs, atStore.renewEveryMs),
    renew: async () => (await Promise.all([here.renew(), atStore.renew()])).every(Boolean),
    release: async () => void (await Promise.all([here.release(), atStore.release()])),
  };
}
