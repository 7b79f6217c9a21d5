/**
 * What follows from a request when the store has no answer: units that were admitted without it are owed, what it has
 * charged in vain is given back, and slots are given back later.
 */

import { withoutSlots } from "../../core/concurrency.ts";
import type { Decision } from "../../core/decision.ts";
import { asCharged, Flag, type KeyRequest, type TakeReply, type TakeRequest } from "../../core/take.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import { chargedInVain, refusedGroups } from "../charged-in-vain.ts";
import { type Added, addDebts, takeBackDebts } from "../debts.ts";
import { takeAlone } from "../own-counts.ts";
import { forgetRefusals } from "../replies.ts";
import type { Background } from "../reply-source.ts";
import { bothHolds, holdSlots, type SlotOptions, slotsOf } from "../slots.ts";
import { addUnreleased } from "../unreleased-slots.ts";
import { callStore } from "./call.ts";
import { nowAt, type Place } from "./place.ts";

/** How the store was called, and what keeps work alive after the answer. */
export interface NoteOptions extends SlotOptions {
  readonly background?: Background | undefined;
  /** Groups that another place has refused: nothing is to stay charged for them. Absent: none. */
  readonly refusedGroups?: ReadonlySet<number>;
}

export interface Noted {
  /** Its hold also renews and releases the slots at the store. */
  readonly decision: Decision;
  /**
   * Settles what the isolate's own counts have charged, and what the store may have charged. An excess becomes a debt.
   * Unused units are taken out of the debts; if a late reply shows that the store has charged them, the store gets them
   * back. Units that the store charged without such a reply lapse with their window.
   */
  settle(request: TakeRequest): Promise<void>;
}

/**
 * Notes a take that was decided without the store. What the store surely has not charged is owed. What the store has
 * charged for a refused request, or for a refused group, is given back. Slots that the store may have given are given
 * back when the request has ended, or at once if the request was refused.
 */
export function noteUnanswered(
  place: Place,
  decision: Decision,
  keys: readonly KeyRequest[],
  { notRun, timeout }: StoreFailure,
  options: NoteOptions,
): Noted {
  const { slot, background, refusedGroups: refusedElsewhere } = options;
  let owed: Added | undefined;
  let charged: TakeReply | undefined;
  const oweAll = () => {
    if (decision.allowed) owed = owe(place, keys);
  };
  if (notRun) oweAll();
  const asked = timeout?.asked ?? keys;
  const late = timeout?.answer.then(async (reply) => {
    if (!reply) return;
    if (!reply.allowed) return oweAll();
    charged = reply;
    // Leased units that were reserved for the request are leased again.
    if (decision.allowed) owe(place, lessAsked(keys, asked));
    // The store has charged, but the request was refused here or elsewhere: the client must not pay.
    const isKept = (group: number) => decision.allowed && !refusedElsewhere?.has(group);
    await giveBack(place, chargedInVain(asked, reply, isKept), reply, slot);
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
      settleAlone(place, request);
      const [excess, unused] = changesOf(request);
      owe(place, excess);
      await late;
      if (owed) takeBackDebts(place.memory, unused, owed);
      if (charged) {
        const refused = refusedGroups(asked, charged);
        const kept = asCharged(asked, charged).filter(({ group }) => !refused.has(group));
        await giveBack(place, partsOf(unused, kept), charged, 0);
      }
      if (slotsOf(request.keys).length > 0) await release();
    },
  };
}

/**
 * Settles what the store has charged. If the store has no answer, the isolate's own counts are settled, an excess that
 * surely was not charged is owed, slots are given back later, and unused units lapse with their window. Never rejects
 * because of the store.
 */
export async function settle(place: Place, request: TakeRequest, background?: Background): Promise<void> {
  try {
    await callStore(place, request, { background });
  } catch (error) {
    const { notRun } = failureOf(error);
    const [excess, unused] = changesOf(request);
    settleAlone(place, { keys: [...excess, ...unused], flag: Flag.giveBack });
    if (notRun) owe(place, excess);
    const slots = slotsOf(request.keys);
    if (slots.length > 0) addUnreleased(place.memory, slots, request.slot!, place.timing.nowMs());
  }
}

function owe({ memory, timing }: Place, keys: readonly KeyRequest[]): Added {
  // Remembered counts lack what is owed: their waits would be too short.
  forgetRefusals(
    memory,
    keys.flatMap(({ key, cost }) => (cost > 0 ? [key] : [])),
  );
  return addDebts(memory, keys, timing.nowMs());
}

function settleAlone(place: Place, request: TakeRequest): void {
  takeAlone(place.memory, request, nowAt(place), 0);
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
async function giveBack(place: Place, keys: readonly KeyRequest[], { nowMs }: TakeReply, slot: number): Promise<void> {
  if (keys.length > 0) await callStore(place, { keys, flag: Flag.giveBack, atMs: nowMs, slot }).catch(failureOf);
}
