/**
 * What follows from a request when the store has no answer: units that were admitted without it are owed, what it has
 * charged in vain is given back, and slots are given back later.
 */

import { withoutSlots } from "../../core/concurrency.ts";
import type { Decision } from "../../core/decision.ts";
import { Flag, type KeyRequest, type Receipt, type TakeReply, type TakeRequest } from "../../core/take.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import { type Added, addDebts, takeBackDebts } from "../debts.ts";
import { giveBackLater } from "../give-backs.ts";
import { takeAlone } from "../own-counts.ts";
import type { Background } from "../reply-source.ts";
import { bothHolds, holdSlots, type SlotOptions, slotsOf } from "../slots.ts";
import { callStore } from "./call.ts";
import { nowAt, type Place } from "./place.ts";
import { giveBack, tellSlowStore } from "./repay.ts";

/** How the store was called, and what keeps work alive after the answer. */
export interface NoteOptions extends SlotOptions {
  readonly background?: Background | undefined;
  /** Groups that another place has refused too: nothing is to stay charged for them. */
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
  const { memory, timing } = place;
  const { slot, background } = options;
  const owing = keys.filter(({ group }) => !options.refusedGroups?.has(group));
  const added = notRun && decision.allowed ? addDebts(memory, owing, timing.nowMs()) : undefined;
  if (added) tellSlowStore(place, background);
  const late = timeout && hearLate(place, decision, owing, timeout.answer, options);
  const atStore = slot && !notRun ? holdSlots(keys, options) : undefined;
  const release = async () => {
    // The release must reach the store after the take. A late charge of a refused request has given its slots back.
    const known = await late;
    if (decision.allowed || !known?.charged) await atStore?.release();
  };
  const isHeld = atStore && decision.allowed;
  if (!isHeld && (atStore || late)) {
    const released = release();
    background?.waitUntil(released);
  }
  return {
    decision: isHeld ? { ...decision, hold: bothHolds(decision.hold, { ...atStore, release }) } : decision,
    async settle(request) {
      takeAlone(memory, request, nowAt(place), 0);
      const [excess, unused] = changesOf(request);
      addDebts(memory, excess, timing.nowMs());
      const known = (await late) ?? { added };
      if (known.added) takeBackDebts(memory, unused, known.added);
      if (known.charged) await giveBackCharged(place, unusedOf(unused, known.charged), 0);
      if (slotsOf(request.keys).length > 0) await release();
    },
  };
}

/** What is known in the end about a take without an answer. Nothing: the store may have charged it. */
interface Known {
  /** What was added to the debts: the store has surely not charged it. */
  readonly added?: Added | undefined;
  /** What the store has charged, by its late reply. */
  readonly charged?: readonly Receipt[];
}

/** Waits for the answer that came too late, and makes good what was decided without it. */
async function hearLate(
  place: Place,
  { allowed }: Decision,
  owing: readonly KeyRequest[],
  answer: Promise<TakeReply | undefined>,
  { slot, refusedGroups }: NoteOptions,
): Promise<Known> {
  const { memory, timing } = place;
  const reply = await answer;
  if (!reply) return {};
  if (!reply.allowed) return allowed ? { added: addDebts(memory, owing, timing.nowMs()) } : {};
  // Leased units that were reserved for the request are leased again.
  if (allowed) addDebts(memory, lessCharged(owing, reply.charged), timing.nowMs());
  // The store has charged, but the request was refused here or elsewhere: the client must not pay.
  const isKept = (group: number) => allowed && !refusedGroups?.has(group);
  const inVain = reply.charged.filter(({ group, cost }) => cost > 0 && !isKept(group));
  await giveBackCharged(place, inVain, slot);
  return { charged: reply.charged };
}

/**
 * Settles what the store has charged. If the store has no answer, the isolate's own counts are settled, an excess that
 * surely was not charged is owed, slots are given back later, and unused units lapse with their window. Never rejects
 * because of the store.
 */
export async function settle(place: Place, request: TakeRequest, background?: Background): Promise<void> {
  const { memory, timing } = place;
  try {
    await callStore(place, request, { background });
  } catch (error) {
    const failure = failureOf(error);
    const [excess, unused] = changesOf(request);
    takeAlone(memory, { keys: [...excess, ...unused], flag: Flag.giveBack }, nowAt(place), 0);
    if (failure.notRun) addDebts(memory, excess, timing.nowMs());
    const keys = request.keys.filter(({ flag }) => flag !== Flag.chargeAnyway);
    giveBackLater(memory, { ...request, keys }, failure, timing.nowMs());
  }
}

/** What requests cost beyond what the store has charged. */
function lessCharged(keys: readonly KeyRequest[], charged: readonly Receipt[]): KeyRequest[] {
  const costOf = (key: string) => charged.find((one) => one.key === key)?.cost ?? 0;
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
function unusedOf(unused: readonly KeyRequest[], charged: readonly Receipt[]): Receipt[] {
  return unused.flatMap(({ key, cost }) => {
    const one = charged.find((other) => other.key === key);
    // Giving a part back does not undo the request: its id stays. A repeat has charged nothing.
    if (!one || (one.once?.isRepeat && cost < one.cost)) return [];
    const { once, ...kept } = one;
    return [{ ...kept, ...(once && cost === one.cost && { once }), cost, limits: withoutSlots(one.limits) }];
  });
}

/**
 * Gives back what a late reply shows as charged. If that fails, the units lapse with their window, and slots are given
 * back later.
 */
async function giveBackCharged(place: Place, keys: readonly Receipt[], slot: number): Promise<void> {
  if (keys.length > 0) await giveBack(place, { keys, flag: Flag.giveBack, slot });
}
