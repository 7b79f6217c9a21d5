/**
 * The answer to a take whose store has none. Each line says what becomes of it. What is admitted without the store is
 * owed, what the store charges in vain is given back, and slots that it may have given are, too.
 */

import { withoutSlots } from "../../core/concurrency.ts";
import { Flag, type KeyRequest, type Receipt, type TakeReply, type TakeRequest } from "../../core/take.ts";
import { keepingAlive } from "../../sleep.ts";
import type { StoreFailure } from "../../store/failure.ts";
import { wasReset } from "../calls.ts";
import { keysWith, makeCalls, renewal } from "../changes.ts";
import { type Added, addDebts, takeBackDebts } from "../debts.ts";
import { takeAlone } from "../own-counts.ts";
import { slotsOf, unitsOf } from "../slots.ts";
import {
  type Answer,
  type Background,
  type Call,
  type Inquiry,
  keepAlive,
  type Line,
  requestOf,
  type Settler,
} from "../taker.ts";
import { nowAt, type Place } from "./place.ts";
import { giveBack, tellSlowStore } from "./repay.ts";
import { renew, settleOnce } from "./settle.ts";

/**
 * @param own the number of the request's own call, whose answer may still come: it must not
 * refuse the request. 0: it has none.
 */
export function answerWithout<L extends Line>(
  place: Place,
  { lines, flag, slot }: Inquiry<L>,
  { background, mustHear, isPart }: Call,
  failure: StoreFailure,
  own: number,
): Answer<L> {
  const since = place.memory.last;
  const isDenied = mustHear || lines.some(({ onFailure }) => onFailure === "deny");
  const counted = isDenied ? [] : lines.filter(({ onFailure }) => onFailure === "local");
  const requests = counted.map(requestOf);
  const reply = takeAlone(place.memory, { keys: requests, flag, slot }, nowAt(place), own);
  const isAdmitted = !isDenied && reply.allowed;
  const answer: Answer<L> = {
    outcome: isDenied ? "unavailable" : isAdmitted ? "admitted" : "refused",
    source: "fallback",
    atMs: counted.length > 0 ? reply.nowMs : 0,
    replies: counted.length > 0 ? [{ lines: counted, reply, source: "fallback" }] : [],
    taken: [],
    failure: failure.code,
    unanswered: lines,
  };
  if (flag !== Flag.take) return answer;
  // What is not counted here is admitted, too.
  const free = isAdmitted ? lines.filter(({ onFailure }) => onFailure === "allow").map(requestOf) : [];
  const receipts = [...reply.charged, ...free.map((key): Receipt => ({ ...key, atMs: reply.nowMs }))];
  const admitted = new Set(receipts.map(({ key }) => key));
  const by = begin(place, lines.map(requestOf), admitted, slot, failure, since, background);
  if (!isPart) by.keep(background);
  return isAdmitted ? { ...answer, taken: [{ receipts, slot, since, by }] } : answer;
}

/** What is known in the end about a take without an answer. Nothing: the store may have charged it. */
interface Known {
  /** What was added to the debts: the store has surely not charged it. */
  readonly added?: Added | undefined;
  /** What the store has charged, by its late reply. */
  readonly charged?: readonly Receipt[];
}

/**
 * Notes a take that was decided without the store. Until it is kept, another place may refuse it.
 *
 * @param all as the store was asked. @param admitted the keys that are charged here; none after a refusal.
 * @param since as in `Taken`.
 */
function begin(
  place: Place,
  all: readonly KeyRequest[],
  admitted: ReadonlySet<string>,
  slot: number,
  { notRun, timeout }: StoreFailure,
  since: number,
  background: Background | undefined,
): Required<Settler> {
  const { memory, timing } = place;
  // Own counts know no ids. A request that has one owes nothing. What costs nothing is neither kept nor given back.
  const asked = all.filter(({ key, cost }) => cost > 0 && admitted.has(key));
  const atStore = slot && !notRun ? slotsOf(all) : [];
  /** A reset has removed the units, or may have. */
  const isGone = ({ key }: Pick<KeyRequest, "key">) => wasReset(memory, key, since);
  let isKept = false;
  let added: Added | undefined;
  let decided: (owing: readonly KeyRequest[]) => void = () => {};
  const late =
    timeout &&
    hearLate(place, new Promise<readonly KeyRequest[]>((resolve) => (decided = resolve)), timeout.answer, slot);
  if (asked.length === 0) decided([]);

  /** Releases slots that the store may have given. */
  async function release(wanted: readonly KeyRequest[]): Promise<void> {
    // The release must reach the store after the take.
    const known = await late;
    // What the store is known to have charged in vain is given back with its slots.
    const isBack = (key: string) => known?.charged && !(isKept && admitted.has(key));
    const keys = wanted.filter(({ key }) => !isBack(key));
    if (keys.length > 0) await settleOnce(place, { keys, flag: Flag.giveBack, slot }, { background });
  }
  if (late) keepAlive(late, background);
  const inVain = atStore.filter(({ key }) => !admitted.has(key));
  if (inVain.length > 0) keepAlive(release(inVain), background);

  /**
   * An excess becomes a debt. Unused units are taken out of the debts; if a late reply shows that the store has charged
   * them, the store gets them back. Units that it has charged without such a reply lapse with their window.
   */
  async function settleRequest(request: TakeRequest): Promise<void> {
    const [more, back] = [keysWith(request, true), keysWith(request, false)];
    const keys = [...more, ...back.flatMap((key) => (isGone(key) ? slotsOf([key]) : [key]))];
    takeAlone(memory, { ...request, keys }, nowAt(place), 0);
    addDebts(memory, more, timing.nowMs());
    const unused = unitsOf(back);
    const known = (await late) ?? { added };
    if (known.added) takeBackDebts(memory, unused, known.added);
    const charged = known.charged?.filter((one) => isKept && !isGone(one)) ?? [];
    await giveBackCharged(place, unusedOf(unused, charged), 0);
    const freed = new Set(slotsOf(request.keys).map(({ key }) => key));
    await release(atStore.filter(({ key }) => freed.has(key)));
  }

  return {
    async settle(changes, { isUndo, background }) {
      // Nothing is owed yet, and a late reply finds that the request was refused.
      if (!isKept) decided([]);
      const settled = makeCalls(changes, false, settleRequest);
      keepAlive(settled, background);
      // The own counts have their units back. Another attempt does not wait for what the store may answer late.
      if (!isUndo) await keepingAlive(settled);
    },

    async renew(charges, call) {
      takeAlone(memory, renewal(charges), nowAt(place), 0);
      const held = charges.filter(({ receipt }) => atStore.some(({ key }) => key === receipt.key));
      return held.length === 0 || (await renew(place, held, call));
    },

    keep(keptAlive) {
      if (asked.length === 0) return;
      isKept = true;
      if (notRun) {
        added = addDebts(memory, asked, timing.nowMs());
        tellSlowStore(place, keptAlive);
      }
      decided(asked);
    },
  };
}

/**
 * Waits for the answer that came too late, and makes good what was decided without it.
 *
 * @param decided the keys of the request that are charged in the end; none if it was refused, here or elsewhere.
 */
async function hearLate(
  place: Place,
  decided: Promise<readonly KeyRequest[]>,
  answer: Promise<TakeReply | undefined>,
  slot: number,
): Promise<Known> {
  const { memory, timing } = place;
  const [owing, reply] = await Promise.all([decided, answer]);
  if (!reply) return {};
  if (!reply.allowed) return { added: addDebts(memory, owing, timing.nowMs()) };
  // Leased units that were reserved for the request are leased again.
  addDebts(memory, lessCharged(owing, reply.charged), timing.nowMs());
  // The store has charged, but the request was refused here or elsewhere: the client must not pay.
  const isKept = (key: string) => owing.some((one) => one.key === key);
  const inVain = reply.charged.filter(({ key, cost }) => cost > 0 && !isKept(key));
  await giveBackCharged(place, inVain, slot);
  return { charged: reply.charged };
}

/** What requests cost beyond what the store has charged. */
function lessCharged(keys: readonly KeyRequest[], charged: readonly Receipt[]): KeyRequest[] {
  const costOf = (key: string) => charged.find((one) => one.key === key)?.cost ?? 0;
  return keys.map((key) => ({ ...key, cost: key.cost - costOf(key.key) }));
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
