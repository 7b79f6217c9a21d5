/**
 * What has happened to the slots of one cell, by an account of its own: it is filled from messages and answers, and
 * compared with the slots that the store holds.
 */

import type { Slots } from "../../../src/kernel/core/concurrency.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import type { Memory } from "../../../src/kernel/place/memory.ts";
import { type Forms, slotForm } from "./canonical.ts";

/** The isolate's own counts may be behind the clock by this much. */
const OWN_ERROR_MS = 100;

interface Home {
  readonly places: readonly { readonly memory: Memory }[];
}

/** The request that has the slot. */
interface Holder {
  readonly home: Home;
  readonly slot: number;
  /** undefined: it holds nothing. */
  readonly held: unknown;
  readonly isOver: boolean;
  readonly isForgotten: boolean;
}

/** What of an execution is about slots. */
interface Around {
  readonly nowMs: number;
  readonly homes: readonly Home[];
  readonly flows: readonly Holder[];
  readonly messages: readonly { readonly request: TakeRequest | undefined }[];
}

interface Slot {
  readonly flow: Holder;
  /** The store has given it, nobody has released it, and it lapses then. 0: the request has no slot of the store. */
  untilMs: number;
  /** The request was admitted alone, and its slot in the isolate's own counters lapses then. 0: it has none. */
  aloneUntilMs: number;
  /** A release has arrived. What arrives after it takes the slot until its timeout: `mayLapse`. */
  isReleased: boolean;
  mayLapse: boolean;
  /** The isolate has the reply to a release. */
  isKnown: boolean;
  /** A release was sent, and it is not checked yet whether it may be. */
  isAsked: boolean;
}

export class SlotAccount {
  readonly #limit: number;
  readonly #timeoutMs: number;
  readonly #slots = new Map<number, Slot>();

  constructor(limit: number, timeoutMs: number) {
    this.#limit = limit;
    this.#timeoutMs = timeoutMs;
  }

  /** A request has this number. */
  begin(slot: number, flow: Holder): void {
    const none = { untilMs: 0, aloneUntilMs: 0 };
    this.#slots.set(slot, { flow, ...none, isReleased: false, mayLapse: false, isKnown: false, isAsked: false });
  }

  /** A call is sent. @returns what is wrong. */
  sent(slot: number, flag: Flag, home: Home): string | undefined {
    if (flag !== Flag.giveBack) return undefined;
    const one = this.#slots.get(slot);
    if (!one || one.flow.home !== home) return `slot ${slot} is released by an isolate that never asked for it`;
    if (one.isKnown) return `slot ${slot} is released twice`;
    one.isAsked = true;
    return undefined;
  }

  /** A call has arrived. */
  arrived(slot: number, flag: Flag, allowed: boolean, nowMs: number): void {
    const one = this.#slots.get(slot);
    if (!one) return;
    if (flag === Flag.giveBack) {
      one.isReleased = true;
      one.untilMs = 0;
    } else if (flag === Flag.chargeAnyway || allowed) {
      const isLateRenewal = flag === Flag.chargeAnyway && one.flow.isOver && one.untilMs <= nowMs;
      if (one.isReleased || isLateRenewal) one.mayLapse = true;
      // A renewal after the timeout takes the slot whatever the limit says.
      else if (flag === Flag.take || one.untilMs > nowMs) one.untilMs = nowMs + this.#timeoutMs;
    }
  }

  /** A reply has come in time. */
  heard(slot: number, flag: Flag): void {
    const one = this.#slots.get(slot);
    if (one && flag === Flag.giveBack) one.isKnown = true;
  }

  toldAlone({ slot }: Holder, nowMs: number): void {
    const one = this.#slots.get(slot);
    if (one) one.aloneUntilMs = nowMs + this.#timeoutMs - OWN_ERROR_MS;
  }

  renewed(flow: Holder, nowMs: number): void {
    if ((this.#slots.get(flow.slot)?.aloneUntilMs ?? 0) > 0) this.toldAlone(flow, nowMs);
  }

  /** A reset has arrived at the store. */
  reset(): void {
    for (const one of this.#slots.values()) one.untilMs = 0;
  }

  /** An isolate has forgotten its own counts. */
  forgetAlone(home: Home): void {
    for (const one of this.#slots.values()) if (one.flow.home === home) one.aloneUntilMs = 0;
  }

  /** @param stored by slot: when it lapses. @param isQuiet no call is on its way. @returns what is wrong. */
  check(scene: Around, stored: Slots, isQuiet: boolean): string | undefined {
    const { nowMs, homes } = scene;
    let held = 0;
    for (const [slot, one] of this.#slots) {
      if (one.isAsked && !one.flow.isOver && one.flow.held) return `slot ${slot} is released while its request runs`;
      one.isAsked = false;
      if (one.untilMs > nowMs) held++;
      if (one.untilMs > nowMs && stored.get(slot) !== one.untilMs) {
        return `a request holds slot ${slot}, and the store does not`;
      }
      if (!isUsed(scene, stored, slot, one)) this.#slots.delete(slot);
    }
    if (held > this.#limit) return `${held} requests hold slots of the store, and ${this.#limit} are the most`;
    for (const home of homes) {
      const isAlone = ({ flow, aloneUntilMs }: Slot) => flow.home === home && !flow.isOver && aloneUntilMs > nowMs;
      const alone = [...this.#slots.values()].filter(isAlone).length;
      if (alone > this.#limit) return `${alone} requests hold slots alone, and ${this.#limit} are the most`;
    }
    return isQuiet ? this.#unexplained(scene, stored) : undefined;
  }

  /** A slot that the store holds and nobody will release. */
  #unexplained({ nowMs, homes, flows }: Around, stored: Slots): string | undefined {
    for (const [slot, lapsesAtMs] of stored) {
      const { flow, mayLapse } = this.#slots.get(slot) ?? {};
      if (!flow || lapsesAtMs <= nowMs || mayLapse || flow.isForgotten || !homes.includes(flow.home)) continue;
      if (flows.includes(flow) || isKept(flow.home, slot, nowMs)) continue;
      return `the store holds slot ${slot}, and nobody will release it`;
    }
    return undefined;
  }

  form(nowMs: number, stored: Slots, forms: Forms): string {
    const own = [...this.#slots].map(([slot, { flow, untilMs, aloneUntilMs, ...flags }]) => {
      const isGone = flow.isForgotten || flow.isOver;
      const instants = [untilMs, aloneUntilMs].map((atMs) => (atMs > nowMs ? forms.instant(atMs) : 0));
      return `${slotForm(slot)} ${instants} ${isGone} ${flags.isReleased} ${flags.mayLapse} ${flags.isKnown}`;
    });
    return `${own.join(";")} ${forms.slots(stored)}`;
  }
}

/** Whether anything may still happen to a slot. */
function isUsed({ nowMs, flows, messages, homes }: Around, stored: Slots, slot: number, { flow }: Slot): boolean {
  return (
    (stored.get(slot) ?? 0) > nowMs ||
    flows.includes(flow) ||
    messages.some(({ request }) => request?.slot === slot) ||
    homes.some((home) => isKept(home, slot, 0))
  );
}

/** Whether the isolate will release it when the store answers again. */
function isKept({ places }: Home, slot: number, nowMs: number): boolean {
  return places.some(({ memory }) => memory.giveBacks.some((one) => one.request.slot === slot && one.untilMs > nowMs));
}
