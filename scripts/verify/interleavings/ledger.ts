/**
 * What has happened to one cell, by an account of its own: it is filled from the messages and the answers, and compared
 * with the counts of the store and with the memories of the isolates. Units are booked in the bucket in which the store
 * has charged them.
 */

import { Flag, type LimitReply } from "../../../src/kernel/core/take.ts";
import type { Memory } from "../../../src/kernel/place/memory.ts";
import type { PartReply } from "../../../src/kernel/place/taker.ts";
import type { ModePolicy } from "./modes.ts";
import { type Promised, promisedBy } from "./promises.ts";

/** The units of one bucket. */
interface Bucket {
  /** Units that clients got with the store's consent, and without it. */
  admitted: number;
  alone: number;
  /** Units that were charged whatever the limit says. */
  repaid: number;
  /** Charges whose reply is on its way. */
  onWay: number;
  /** Units that the store may hold and nobody has: a reply or a return was lost, or an isolate has forgotten them. */
  lapsed: number;
  /** Units that requests with an id have charged. ids.ts says which of them must be there. */
  ids: number;
  /** Units that somebody may have, or give back, although a reset has removed their charge. */
  loose: number;
  /** The most units that the limit has had. */
  most: number;
}

export class Ledger {
  readonly bucketMs: number;
  /** So many buckets count: the present one, and those before it. */
  readonly kept: number;
  readonly #index: number;
  readonly #key: string;
  readonly #isolates: number;
  readonly #isShadow: boolean;
  readonly #promised: Promised;
  readonly #isCalendar: boolean;
  /** The newest first. */
  #buckets: Bucket[] = [];
  #newest = 0;
  /** What was admitted, and when: only if the promise is about any span of time. */
  #admissions: { readonly atMs: number; readonly units: number }[] = [];
  #number: number;
  /** How often the present bucket began anew. */
  #begun = 1;
  /** Isolates that have died. */
  #died = 0;
  /** Steps of the store. Units were charged, came back or were reset in the last of them. */
  #steps = 0;
  #charged = 0;
  #cameBack = 0;
  #reset = 0;
  readonly #stepOf = new WeakMap<readonly LimitReply[], number>();

  /** @param index of the cell. */
  constructor(index: number, rules: ModePolicy, isolates: number) {
    this.#promised = promisedBy(rules.algorithm);
    this.bucketMs = this.#promised.bucketMs;
    this.#isCalendar = rules.algorithm === "calendar";
    this.kept = this.#promised.kept;
    this.#index = index;
    this.#key = rules.name;
    this.#isolates = isolates;
    this.#isShadow = rules.mode === "shadow";
    this.#number = rules.limit;
  }

  get steps(): number {
    return this.#steps;
  }

  bucketOf(atMs: number): number {
    return Math.floor((atMs - this.#promised.beginsAtMs) / this.bucketMs);
  }

  /** The end of the bucket of an instant. */
  endOf(atMs: number): number {
    return (this.bucketOf(atMs) + 1) * this.bucketMs + this.#promised.beginsAtMs;
  }

  /**
   * A call has arrived. @param allowed what the store replies. @param charged by bucket, the newest first: the units
   * that the call has charged. @param hasId the request has an id here.
   */
  arrived(
    flag: Flag,
    allowed: boolean,
    replies: readonly LimitReply[],
    charged: readonly number[],
    nowMs: number,
    hasId: boolean,
  ): void {
    this.#roll(nowMs);
    this.#steps++;
    if (charged.some((units) => units > 0)) this.#charged = this.#steps;
    if (charged.some((units) => units < 0)) this.#cameBack = this.#steps;
    const [present] = this.#buckets;
    if (hasId) for (const [age, units] of charged.entries()) this.#buckets[age]!.ids += units;
    else if (flag === Flag.take && allowed) present!.onWay += charged[0]!;
    if (flag === Flag.chargeAnyway) present!.repaid += charged[0]!;
    this.#stepOf.set(replies, this.#steps);
  }

  /** The reply to an admitted take is on its way no more. @param atMs when the store decided. */
  heard(replies: readonly LimitReply[], atMs: number, cost: number): void {
    const bucket = this.isFromBeforeReset(replies) ? undefined : this.#bucketAt(atMs);
    if (bucket) bucket.onWay -= cost;
  }

  /** Units of admitted requests come back. @param atMs an instant of their bucket. */
  settled(units: number, atMs: number, isAlone: boolean): void {
    const bucket = this.#bucketAt(atMs);
    if (!bucket) return;
    if (isAlone) bucket.alone -= units;
    else bucket.admitted -= units;
  }

  /** Nobody has these units, and they may not come back. @param atMs an instant of their bucket. */
  lapse(units: number, atMs: number, replies?: readonly LimitReply[]): void {
    const bucket = replies && this.isFromBeforeReset(replies) ? undefined : this.#bucketAt(atMs);
    if (bucket) bucket.lapsed += units;
  }

  /** The stock of an isolate is forgotten. */
  forget(memory: Memory, nowMs: number): void {
    this.#roll(nowMs);
    for (const [age, units] of this.stockIn([memory]).entries()) this.#buckets[age]!.lapsed += units;
  }

  /** An isolate has died. */
  died(memory: Memory, nowMs: number): void {
    this.#died++;
    this.forget(memory, nowMs);
  }

  changed(limit: number, nowMs: number): void {
    this.#roll(nowMs);
    const [present] = this.#buckets;
    present!.most = Math.max(present!.most, limit);
    if (limit > this.#number) this.#cameBack = ++this.#steps;
    this.#number = limit;
  }

  /**
   * A reset has arrived. @param memories of the other isolates. @param own of the isolate that resets: what it leases
   * meanwhile goes when the reset ends. @param returns units on their way back, with an instant of their bucket.
   */
  reset(
    nowMs: number,
    memories: readonly Memory[],
    own: Memory,
    returns: readonly { units: number; atMs: number }[],
  ): void {
    this.#roll(nowMs);
    this.#reset = this.#cameBack = ++this.#steps;
    this.#begun++;
    const [stock, since] = [this.stockIn(memories), this.stockIn([own], true)];
    this.#buckets = this.#buckets.map(({ onWay, loose }, age) => {
      return { ...this.#newBucket(), loose: loose + onWay + stock[age]! + since[age]! };
    });
    for (const { units, atMs } of returns) {
      const bucket = this.#bucketAt(atMs);
      if (bucket) bucket.loose += units;
    }
    this.#admissions = [];
  }

  /** A request was admitted. @param replies by which the store has admitted it. undefined: it spent leased units. */
  admit(units: number, { source, reply }: PartReply, nowMs: number, replies: readonly LimitReply[] | undefined): void {
    this.#roll(nowMs);
    const isLeased = source === "lease";
    if (!isLeased && replies && this.isFromBeforeReset(replies)) return;
    const atMs = isLeased ? nowMs : reply.nowMs;
    const bucket = this.#bucketAt(atMs);
    if (bucket) bucket.admitted += units;
    if (this.#promised.spans.length > 0) this.#admissions.push({ atMs, units });
  }

  /** A request was admitted without the store. @param atMs what its isolate takes for the store's time. */
  admitAlone(units: number, nowMs: number, atMs = nowMs): void {
    this.#roll(nowMs);
    const bucket = this.#bucketAt(atMs);
    if (bucket) bucket.alone += units;
  }

  /**
   * Leased units, and those that are reserved, by bucket, the newest first. @param sinceReset only leases since it
   * began.
   */
  stockIn(memories: readonly Memory[], sinceReset = false): number[] {
    const sums = new Array<number>(this.kept).fill(0);
    for (const { records } of memories) {
      const { leases = [], reset = 0 } = records.get(this.#key) ?? {};
      for (const { units, asks, number } of leases) {
        if (sinceReset && number <= reset) continue;
        for (const one of units) this.#add(sums, one);
        for (const { reserved } of asks?.values() ?? []) for (const one of reserved) this.#add(sums, one);
      }
    }
    return sums;
  }

  /** The stock of the present bucket. */
  presentStock(memories: readonly Memory[], nowMs: number): number {
    this.#roll(nowMs);
    return this.stockIn(memories)[0]!;
  }

  #add(sums: number[], { chargedAtMs, units }: { readonly chargedAtMs: number; readonly units: number }): void {
    const age = this.#newest - this.bucketOf(chargedAtMs);
    if (age >= 0 && age < this.kept) sums[age]! += units;
  }

  /**
   * @param charged the counts of the store by bucket, the newest first. @param isQuiet no call is on its way, and no
   * request waits. @returns what is wrong.
   */
  check(nowMs: number, memories: readonly Memory[], charged: readonly number[], isQuiet: boolean): string | undefined {
    this.#roll(nowMs);
    const admitted = this.#buckets.map((bucket) => ({ ...bucket, admitted: bucket.admitted + bucket.ids }));
    const broken = this.#promised.broken(admitted, this.#admissions);
    if (broken) return broken;
    const [{ alone, most, repaid }] = this.#buckets as [Bucket];
    // A debt is one of the period in which its units were admitted.
    if (this.#isCalendar && this.#begun === 1 && repaid > alone) {
      return `${repaid} units were repaid to this period, and ${alone} were admitted alone in it`;
    }
    const mostAlone = this.#isShadow ? Infinity : most * (this.#isolates + this.#died) * this.#begun;
    if (alone > mostAlone) return `${alone} units were admitted alone, and ${mostAlone} are the most`;
    const stock = this.stockIn(memories);
    for (const [age, bucket] of this.#buckets.entries()) {
      if (bucket.ids < 0) return `${-bucket.ids} units of ids came back to a bucket that they never charged`;
      const counted = charged[age]!;
      const held = bucket.admitted + stock[age]! + bucket.onWay + bucket.ids;
      if (counted < held - bucket.loose) {
        return `clients, stocks and messages hold ${held} units, and the store has charged ${counted}: some came back twice`;
      }
      const explained = held + bucket.alone + bucket.repaid + bucket.lapsed;
      // An isolate that notices a reset forgets units, too.
      if (isQuiet && bucket.loose === 0 && counted > explained) {
        return `the store has charged ${counted} units, and ${explained} are explained`;
      }
    }
    return undefined;
  }

  /** Whether units came back after this step. */
  hasComeBackSince(step: number): boolean {
    return this.#cameBack > step;
  }

  /** Whether units were charged after this step. */
  wasChargedSince(step: number): boolean {
    return this.#charged > step;
  }

  /** The step in which the store has replied this. undefined: it has not. */
  stepIn(replies: readonly LimitReply[]): number | undefined {
    return this.#stepOf.get(replies);
  }

  /** The form of the step in which the store has replied this. */
  stepOf(replies: readonly LimitReply[] | undefined): string {
    return stepForm(this.#index, (replies && this.#stepOf.get(replies)) ?? 0);
  }

  form(nowMs: number): string {
    const buckets = this.#buckets.map(({ admitted, alone, onWay, repaid, lapsed, ids, loose, most }) => {
      return [admitted, alone, onWay, repaid, lapsed, ids, loose, most].join();
    });
    const admissions = this.#admissions.map(({ atMs, units }) => `${atMs - nowMs}:${units}`).sort();
    const steps = [this.#charged, this.#cameBack, this.#reset].map((step) => stepForm(this.#index, step));
    return `${buckets.join(";")} ${this.#begun} ${this.#died} ${admissions} ${steps}`;
  }

  /** Whether a reset has removed what was charged with this reply. */
  isFromBeforeReset(replies: readonly LimitReply[]): boolean {
    return (this.#stepOf.get(replies) ?? 0) < this.#reset;
  }

  #bucketAt(atMs: number): Bucket | undefined {
    return this.#buckets[this.#newest - this.bucketOf(atMs)];
  }

  #newBucket(): Bucket {
    return { admitted: 0, alone: 0, repaid: 0, onWay: 0, lapsed: 0, ids: 0, loose: 0, most: this.#number };
  }

  #roll(nowMs: number): void {
    const newest = this.bucketOf(nowMs);
    if (newest === this.#newest) return;
    const passed = Math.min(this.kept, newest - this.#newest);
    const begun = Array.from({ length: passed }, () => this.#newBucket());
    this.#buckets = [...begun, ...this.#buckets].slice(0, this.kept);
    this.#newest = newest;
    this.#begun = 1;
    const oldestMs = nowMs - this.#promised.rememberedMs;
    this.#admissions = this.#admissions.filter(({ atMs }) => atMs > oldestMs);
  }
}

/** Only the order of the steps of a cell means anything: the form of a state renames them. */
export function stepForm(cell: number, step: number): string {
  return `@${cell}:${step}@`;
}
