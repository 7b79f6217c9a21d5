/**
 * What one isolate has admitted in one cell under `shared`, by an account of its own. It is filled from answers and
 * messages, and compared with what the isolate owes and with what it has sent without hearing of it.
 */

import { slidingWindow } from "../../../src/kernel/core/window.ts";
import type { Debt, OwnCounts } from "../../../src/kernel/place/record.ts";
import type { Forms } from "./canonical.ts";

/** Units that were admitted together. */
interface Admitted {
  readonly units: number;
  /** By the local clock, ms since the epoch. */
  readonly atMs: number;
  /** The number of the window, as the isolate knows the store's clock. */
  bucket: number;
  /** The message that has told them. undefined: none yet. */
  by: number | undefined;
  /** The step of the cell in which it has arrived. */
  step: number | undefined;
  /** The reply has come. */
  isHeard: boolean;
}

/** What the isolate has admitted under `shared` now. */
interface Admission {
  readonly units: number;
  readonly localMs: number;
  readonly bucket: number;
  /** The units that the newest known reply counts in that window, and the step of the cell in which it was made. */
  readonly counted: number;
  readonly step: number;
}

export class ToldAccount {
  readonly #windowMs: number;
  #all: Admitted[] = [];
  /** The newest window in which the isolate has admitted. */
  #bucket = 0;
  /** A reply came in this step. */
  #hasLearned = false;
  /** An isolate sends before its answer is known: what was sent in this step is booked at its end. */
  #sent: { readonly id: number; readonly cost: number; readonly localMs: number; readonly limit: number }[] = [];

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** @returns what is wrong. */
  admitted({ units, localMs, bucket, counted, step }: Admission, limit: number): string | undefined {
    this.#bucket = Math.max(this.#bucket, bucket);
    const isLacking = (one: Admitted) => one.bucket === this.#bucket && !(one.step !== undefined && one.step <= step);
    const lacking = sum(this.#all.filter(isLacking));
    this.#all.push({ units, atMs: localMs, bucket: this.#bucket, by: undefined, step: undefined, isHeard: false });
    if (counted + lacking + units <= limit) return undefined;
    return (
      `the isolate admits ${units} units beside ${counted} that the store has told it and ${lacking} of its own that ` +
      `the store had not counted then: more than ${limit}`
    );
  }

  sent(id: number, cost: number, localMs: number, limit: number): void {
    this.#sent.push({ id, cost, localMs, limit });
  }

  arrived(id: number, step: number): void {
    for (const one of this.#all) if (one.by === id) one.step = step;
  }

  heard(id: number): void {
    for (const one of this.#all) if (one.by === id) one.isHeard = true;
    this.#hasLearned = true;
  }

  /** The message was surely not run. */
  refused(id: number): void {
    for (const one of this.#all) if (one.by === id) one.by = undefined;
  }

  /** The isolate has reset the cell, and owes nothing. */
  clear(): void {
    this.#all = [];
  }

  /** A step has ended. @param bucket the window, as the isolate knows the store's clock. @returns what is wrong. */
  booked(bucket: number): string | undefined {
    // It knows the clock better after a reply: what it took for a later window was admitted in this one.
    if (this.#hasLearned) {
      this.#bucket = Math.min(this.#bucket, bucket);
      for (const one of this.#all) one.bucket = Math.min(one.bucket, bucket);
    }
    this.#hasLearned = false;
    for (const { id, cost, localMs, limit } of this.#sent.splice(0)) {
      const owed = this.#all.filter(({ by }) => by === undefined);
      const [least, most] = [Math.min(limit, sum(this.#young(owed, localMs))), Math.min(limit, sum(owed))];
      for (const one of owed) one.by = id;
      if (cost > most) return `the isolate tells ${cost} units, and it had ${most} to tell`;
      if (cost < least) return `the isolate tells ${cost} units, and it had ${least} to tell`;
    }
    return undefined;
  }

  /** @param own what the isolate keeps. @returns what is wrong. */
  check(own: OwnCounts | undefined, localMs: number): string | undefined {
    this.#all = this.#all.filter((one) => one.bucket >= this.#bucket || !isOver(one, localMs, 2 * this.#windowMs));
    const units = (debts: readonly Debt[]) =>
      debts
        .flatMap(({ record, span }) => slidingWindow.read(record, undefined, span, localMs).counts)
        .reduce((all, one) => all + one, 0);
    const owes = units(own?.debts ?? []);
    const owed = this.#all.filter(({ by }) => by === undefined);
    if (owes > sum(owed)) return `the isolate owes ${owes} units, and ${sum(owed)} are to be told`;
    const least = sum(this.#young(owed, localMs));
    if (owes < least) return `the isolate owes ${owes} units, and ${least} were admitted and never told`;
    const unheard = this.#all.filter(({ by, isHeard }) => by !== undefined && !isHeard);
    const [counts, told] = [units([...(own?.repaying.values() ?? [])]), sum(this.#young(unheard, localMs))];
    if (counts < told) return `the isolate counts ${counts} units that it has told without an answer, of ${told}`;
    return undefined;
  }

  /** Whether something that still counts was never told. */
  owes(localMs: number): boolean {
    return this.#young(this.#all, localMs).some(({ by }) => by === undefined);
  }

  form(forms: Forms, messages: readonly { readonly id: number }[], stepForm: (step: number) => string): string {
    return this.#all
      .map(({ units, atMs, bucket, by, step, isHeard }) => {
        const message = messages.findIndex(({ id }) => id === by);
        const told = by === undefined ? "owed" : `${message} ${step === undefined ? "" : stepForm(step)} ${isHeard}`;
        return `${units} ${forms.instant(atMs)} ${bucket - this.#bucket} ${told}`;
      })
      .join(";");
  }

  #young(all: readonly Admitted[], localMs: number): Admitted[] {
    return all.filter((one) => !isOver(one, localMs, this.#windowMs));
  }
}

function isOver({ atMs }: Admitted, localMs: number, windowMs: number): boolean {
  return localMs - atMs >= windowMs;
}

function sum(all: readonly Admitted[]): number {
  return all.reduce((units, one) => units + one.units, 0);
}
