/**
 * What has happened to the ids of one cell, by an account of its own: it is filled from the calls that arrive, and
 * compared with what the store keeps of each id.
 */

import { Flag } from "../../../src/kernel/core/layout.ts";
import type { OnceValue } from "../../../src/kernel/core/once.ts";
import type { Forms } from "./canonical.ts";

interface Rule {
  readonly forMs: number;
  readonly repeats: number;
}

/** The request that has an id. */
interface Holder {
  readonly isAdmitted: boolean;
}

/** What of an execution is about ids. */
interface Around {
  readonly nowMs: number;
  readonly flows: readonly unknown[];
  readonly messages: readonly { readonly sender: unknown }[];
}

/** An id from its charge to its end. */
interface Life {
  readonly number: number;
  readonly endsAtMs: number;
  /** Requests that the store has admitted as the first or as a repeat, less those that were undone. */
  admitted: number;
  /** Charges, less those that were given back. */
  charges: number;
}

/** A request that the store has admitted. */
interface Entry {
  readonly id: string;
  readonly life: number;
  readonly isRepeat: boolean;
  /** The repeats were used up: it has a charge of its own, which comes back without the id. */
  readonly isBeyond: boolean;
  isUndone: boolean;
  /** A message was lost: the request may be refused, and its entry stays. */
  isLapsed: boolean;
}

/** A call with an id has arrived. */
interface Arrival {
  readonly sender: Holder;
  readonly id: string;
  readonly flag: Flag;
  readonly cost: number;
  /** The store has admitted it. */
  readonly isAdmitted: boolean;
  /** A limit under the key of the id has refused it. */
  readonly isRefused: boolean;
  /** Units that it has charged. Less than 0: units came back. */
  readonly units: number;
  /** Whether the bucket of an instant has ended: its units can no longer come back. */
  isOver(atMs: number): boolean;
}

export class IdAccount {
  readonly #rule: Rule;
  readonly #lives = new Map<string, Life>();
  readonly #entries = new Map<Holder, Entry>();
  #last = 0;

  constructor(rule: Rule) {
    this.#rule = rule;
  }

  /** When the ids end. */
  endsAtMs(): number[] {
    return [...this.#lives.values()].map(({ endsAtMs }) => endsAtMs);
  }

  /** Whether the store must admit a request with this id without a charge. */
  isFree(id: string, nowMs: number): boolean {
    const life = this.#living(id, nowMs);
    return life !== undefined && life.admitted - life.charges < this.#rule.repeats;
  }

  /** @returns what is wrong. */
  arrived(arrival: Arrival, nowMs: number): string | undefined {
    const { flag, id, isAdmitted, isRefused, units } = arrival;
    if (flag === Flag.take && isAdmitted) return this.#admitted(arrival, nowMs);
    if (flag === Flag.giveBack) return this.#undone(arrival, nowMs);
    if (isRefused && this.isFree(id, nowMs)) return `a repeat of id ${id} is refused`;
    return units === 0 ? undefined : `the refused request with id ${id} is charged`;
  }

  #admitted({ sender, id, cost, units }: Arrival, nowMs: number): string | undefined {
    const { forMs, repeats } = this.#rule;
    const known = this.#living(id, nowMs);
    const isRepeat = this.isFree(id, nowMs);
    if (isRepeat && units !== 0) return `id ${id} is charged again within its time`;
    if (!isRepeat && units !== cost) {
      return known ? `more than ${repeats} repeats of id ${id} were free` : `id ${id} was never charged`;
    }
    const begun = { number: ++this.#last, endsAtMs: nowMs + forMs, admitted: 0, charges: 0 };
    const life: Life = known ?? begun;
    const isBeyond = known !== undefined && !isRepeat;
    this.#entries.set(sender, { id, life: life.number, isRepeat, isBeyond, isUndone: false, isLapsed: false });
    if (isBeyond) return undefined;
    this.#lives.set(id, life);
    life.admitted++;
    if (!isRepeat) life.charges++;
    return undefined;
  }

  #undone({ sender, id, cost, units, isOver }: Arrival, nowMs: number): string | undefined {
    const entry = this.#entries.get(sender);
    if (!entry) return `id ${id} is given back, and its request was never admitted`;
    if (entry.isUndone) return `id ${id} is given back twice by one request`;
    if (entry.isBeyond) return `a request beyond the repeats gives its id ${id} back`;
    entry.isUndone = true;
    const life = this.#living(id, nowMs);
    // An undo that comes after the end of its own id, and finds it begun again, takes the later one (verification.md).
    if (!life) return entry.isRepeat && units !== 0 ? `a repeat of id ${id} gets units back` : undefined;
    life.admitted--;
    life.charges += units / cost;
    if (life.admitted > 0 && life.charges < 1) return `id ${id} is given back while others of it are admitted`;
    if (life.admitted > 0) return undefined;
    this.#lives.delete(id);
    const isLeft = life.charges > 0 && !isOver(life.endsAtMs - this.#rule.forMs);
    return isLeft ? `id ${id} stays charged, and no request of it is admitted` : undefined;
  }

  /** A call without an id gives units back. @returns whether they are those of a request beyond its repeats. */
  isBeyond(sender: Holder): boolean {
    const entry = this.#entries.get(sender);
    if (entry?.isBeyond) entry.isUndone = true;
    return entry?.isBeyond ?? false;
  }

  /** A message of this request was lost. */
  lapse(sender: Holder): void {
    const entry = this.#entries.get(sender);
    if (entry) entry.isLapsed = true;
  }

  /** @param stored by id: what the store keeps. @returns what is wrong. */
  check(
    { nowMs, flows, messages }: Around,
    stored: readonly (readonly [id: string, value: OnceValue | undefined])[],
  ): string | undefined {
    for (const [id, value] of stored) {
      const life = this.#living(id, nowMs);
      if (!life) {
        this.#lives.delete(id);
        if (value && value.endsAtMs > nowMs) return `id ${id} is kept, and no request of it is admitted`;
        continue;
      }
      const { endsAtMs, admitted, charges } = life;
      if (charges > 1) return `id ${id} is charged ${charges} times within its time`;
      if (value?.endsAtMs !== endsAtMs) return `id ${id} of an admitted request is not kept until its end`;
      const free = admitted - charges;
      if (value.used !== free) return `${value.used} repeats of id ${id} are counted, and ${free} were admitted`;
    }
    for (const [flow, entry] of this.#entries) {
      if (flows.includes(flow) || messages.some(({ sender }) => sender === flow)) continue;
      // What was refused before it ran goes back later, when the id may have ended: another request may carry it.
      if (entry.isLapsed && !entry.isUndone) continue;
      this.#entries.delete(flow);
      const isKept = !entry.isUndone && this.#living(entry.id, nowMs)?.number === entry.life;
      if (isKept && !flow.isAdmitted) return `a refused request has left its id ${entry.id}`;
    }
    return undefined;
  }

  form(forms: Forms): string {
    const lives = [...this.#lives].map(([id, { endsAtMs, admitted, charges }]) => {
      return `${id} ${forms.instant(endsAtMs)} ${admitted} ${charges}`;
    });
    return lives.sort().join();
  }

  /** What the account says about one request. */
  formOf(sender: Holder): string {
    const entry = this.#entries.get(sender);
    if (!entry) return "";
    const { id, life, isRepeat, isBeyond, isUndone, isLapsed } = entry;
    const isLiving = this.#lives.get(id)?.number === life;
    return `${isLiving} ${isRepeat} ${isBeyond} ${isUndone} ${isLapsed} ${sender.isAdmitted}`;
  }

  #living(id: string, nowMs: number): Life | undefined {
    const life = this.#lives.get(id);
    return life && life.endsAtMs > nowMs ? life : undefined;
  }
}
