/**
 * What the store has missed while it had no answer: units that were admitted without it, what became of reservations,
 * and slots that were not given back to it.
 */

import { withoutSlots } from "../../core/concurrency.ts";
import type { Decision, Source } from "../../core/decision.ts";
import { asCharged, Flag, type KeyRequest, type TakeReply, type TakeRequest } from "../../core/take.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import type { Background, ReplySource } from "../reply-source.ts";
import { bothHolds, holdSlots, type SlotOptions, slotsOf } from "../slots.ts";
import type { StoreCalls } from "../store-calls.ts";
import type { ToldCounts } from "../told-counts.ts";
import { chargedInVain, refusedGroups } from "./charged-in-vain.ts";
import type { Debts, Owed } from "./debts.ts";
import type { UnreleasedSlots } from "./unreleased-slots.ts";

/** How the store was called, and what keeps work alive after the answer. */
interface NoteOptions extends SlotOptions {
  readonly background?: Background | undefined;
  /** Groups that another place has refused: nothing is to stay charged for them. Absent: none. */
  readonly refusedGroups?: ReadonlySet<number>;
}

/**
 * Settles a reservation: keys with `Flag.giveBack` get units and slots back, keys with `Flag.chargeAnyway` are charged
 * an excess. Never rejects because of the store.
 */
type SettleMissed = (request: TakeRequest, background?: Background) => Promise<void>;

interface Noted {
  /** Its hold also renews and releases the slots at the store. */
  readonly decision: Decision;
  /**
   * Settles what the isolate's own counters have charged, and what the store may have charged. An excess becomes a
   * debt. Unused units are taken out of the debts; if a late reply shows that the store has charged them, the store
   * gets them back. Units that the store charged without such a reply lapse with their window.
   */
  readonly settle: SettleMissed;
}

export interface MissedByStore {
  /**
   * Notes a take that was decided without the store. What the store surely has not charged is charged later. What the
   * store has charged for a refused request, or for a refused group, is given back. Slots that the store may have given
   * are given back when the request has ended, or at once if the request was refused.
   */
  note(decision: Decision, keys: readonly KeyRequest[], failure: StoreFailure, options: NoteOptions): Noted;
  /**
   * Settles what the store has charged. If the store has no answer, the isolate's own counters are settled, an excess
   * that surely was not charged is owed, slots are given back later, and unused units lapse with their window.
   */
  readonly settle: SettleMissed;
  /**
   * A request has its answer: if the store itself has given it, tells the store some of what it missed. An answer from
   * memory or from a stock shows nothing about the store. A repayment must not be the probe of an open breaker either:
   * without a reply nobody knows whether it ran, and the debts would be lost.
   */
  tell(source: Source, background: Background | undefined): void;
}

interface MissedParts {
  readonly calls: StoreCalls;
  readonly fallback: ReplySource;
  readonly debts: Debts;
  readonly unreleased: UnreleasedSlots;
  readonly told: ToldCounts;
}

export function createMissedByStore({ calls, fallback, debts, unreleased, told }: MissedParts): MissedByStore {
  function owe(keys: readonly KeyRequest[]): Owed {
    // Remembered counts lack what is owed: their waits would be too short.
    told.forgetRefusals(keys.flatMap(({ key, cost }) => (cost > 0 ? [key] : [])));
    return debts.add(keys, Date.now());
  }

  return {
    note(decision, keys, { notRun, timeout }, options) {
      const { slot, background, refusedGroups: refusedElsewhere } = options;
      let owed: Owed | undefined;
      let charged: TakeReply | undefined;
      const oweAll = () => {
        if (decision.allowed) owed = owe(keys);
      };
      if (notRun) oweAll();
      const asked = timeout?.asked ?? keys;
      const late = timeout?.answer.then(async (reply) => {
        if (!reply) return;
        if (!reply.allowed) return oweAll();
        charged = reply;
        // What the isolate had in stock for the request has gone back into the stock.
        if (decision.allowed) owe(lessAsked(keys, asked));
        // The store has charged, but the request was refused here or elsewhere: the client must not pay.
        const isKept = (group: number) => decision.allowed && !refusedElsewhere?.has(group);
        await giveBack(calls, chargedInVain(asked, reply, isKept), reply, slot);
      });
      const atStore = slot && !notRun ? holdSlots(keys, options) : undefined;
      const release = async () => {
        // The release must reach the store after the take.
        await late;
        await atStore?.release();
      };
      const isHeld = atStore && decision.allowed;
      if (!isHeld && (atStore || late)) {
        const released = release();
        background?.waitUntil(released);
      }
      return {
        decision: isHeld ? { ...decision, hold: bothHolds(decision.hold, { ...atStore, release }) } : decision,
        async settle(request) {
          await fallback.take(request);
          const [excess, unused] = changesOf(request);
          owe(excess);
          await late;
          if (owed) debts.takeBack(unused, owed);
          if (charged) {
            const refused = refusedGroups(asked, charged);
            const keys = asCharged(asked, charged).filter(({ group }) => !refused.has(group));
            await giveBack(calls, partsOf(unused, keys), charged, 0);
          }
          if (slotsOf(request.keys).length > 0) await release();
        },
      };
    },

    async settle(request, background) {
      try {
        await calls.take(request, { background });
      } catch (error) {
        const { notRun } = failureOf(error);
        const [excess, unused] = changesOf(request);
        await fallback.take({ keys: [...excess, ...unused], flag: Flag.giveBack });
        if (notRun) owe(excess);
        const slots = slotsOf(request.keys);
        if (slots.length > 0) unreleased.add(slots, request.slot!, Date.now());
      }
    },

    tell(source, background) {
      if (source !== calls.kind || calls.breaker?.() === "open") return;
      const told = [
        ...(debts.size > 0 ? [debts.repay(calls, Date.now())] : []),
        ...(unreleased.size > 0 ? [unreleased.release(calls, Date.now())] : []),
      ];
      if (told.length > 0) background?.waitUntil(Promise.all(told));
    },
  };
}

/** What requests cost beyond what the store was asked for. */
function lessAsked(keys: readonly KeyRequest[], asked: readonly KeyRequest[]): KeyRequest[] {
  const costOf = (key: string) => asked.find((one) => one.key === key)?.cost ?? 0;
  return keys.map((key) => ({ ...key, cost: key.cost - costOf(key.key) }));
}

/** The units of a settlement without its slots: what is charged, and what is given back. */
function changesOf({ keys }: TakeRequest): [excess: KeyRequest[], unused: KeyRequest[]] {
  const units = keys.flatMap((key) => {
    const limits = withoutSlots(key.limits);
    return limits.length > 0 ? [{ ...key, limits }] : [];
  });
  return [
    units.filter(({ flag }) => flag === Flag.chargeAnyway),
    units.filter(({ flag }) => flag !== Flag.chargeAnyway),
  ];
}

/** The part of each charge that was not used, without slots. */
function partsOf(unused: readonly KeyRequest[], charged: readonly KeyRequest[]): KeyRequest[] {
  return unused.flatMap(({ key, cost }) => {
    const one = charged.find((other) => other.key === key);
    return one ? [{ ...one, cost, limits: withoutSlots(one.limits) }] : [];
  });
}

/** Gives back what a late reply shows as charged. If that fails, the units lapse with their window. */
async function giveBack(
  calls: StoreCalls,
  keys: readonly KeyRequest[],
  { nowMs }: TakeReply,
  slot: number,
): Promise<void> {
  if (keys.length > 0) await calls.take({ keys, flag: Flag.giveBack, atMs: nowMs, slot }).catch(failureOf);
}
