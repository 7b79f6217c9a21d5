/**
 * What has happened, by an account of its own: it is filled from the messages and the answers, and compared with the
 * counts of the store and with the memories of the isolates.
 */

import type { Decision } from "../../../src/core/decision.ts";
import { Flag, type LimitReply, type TakeReply, type TakeRequest } from "../../../src/core/take.ts";
import { type Memory, recordOf } from "../../../src/isolate/memory.ts";
import type { Mode } from "./modes.ts";

const WINDOW_MS = 1_000;
/** Waits may be longer than the truth by what an isolate does not know of the store's clock: by a slow round trip. */
const CLOCK_ERROR_MS = 150;

/** The reply by which an isolate refuses. */
export interface Basis {
  readonly replies: readonly LimitReply[];
  readonly receivedAtMs: number;
}

interface Refusal {
  readonly basis: Basis | undefined;
  /** The step of the store at which the isolate's own last reset had ended. */
  readonly resetAt: number;
  readonly localMs: number;
  readonly nowMs: number;
  readonly trustedMs: number;
  look(atMs: number): TakeReply;
}

export class Ledger {
  readonly #isolates: number;
  #bucket = 0;
  /** Units of the present bucket that clients got with the store's consent, and without it. */
  #admitted = 0;
  #alone = 0;
  /** Units that were charged in the present bucket whatever the limit says. */
  #repaid = 0;
  /** Charges of the present bucket whose reply is on its way. */
  #onWay = 0;
  /** The most units that the limit has had in this bucket, and how often it began anew. */
  #most: number;
  #number: number;
  #begun = 1;
  /** A reply or a return was lost: the store may hold units that nobody has. */
  #isInDoubt = false;
  /**
   * The replies of calls that were on their way during a reset are void: what they have charged after it lapses with
   * its window.
   */
  #isVoid = false;
  /** A reset beside other requests: leased units of other isolates may be missing at the store. */
  #isLoose = false;
  /** Isolates that have died. */
  #died = 0;
  /** Steps of the store. Units were charged or came back in the last of them. */
  #steps = 0;
  #charged = 0;
  #cameBack = 0;
  readonly #stepOf = new WeakMap<readonly LimitReply[], number>();

  constructor({ isolates, limit }: Mode) {
    this.#isolates = isolates;
    this.#most = limit;
    this.#number = limit;
  }

  get steps(): number {
    return this.#steps;
  }

  arrived(request: TakeRequest, reply: TakeReply, charged: number, nowMs: number): void {
    this.#roll(nowMs);
    this.#steps++;
    if (charged > 0) this.#charged = this.#steps;
    if (charged < 0) this.#cameBack = this.#steps;
    if (request.flag === Flag.take) this.#onWay += charged;
    if (request.flag === Flag.chargeAnyway) this.#repaid += charged;
    for (const replies of reply.keys) this.#stepOf.set(replies, this.#steps);
  }

  /** A reply is heard no more. */
  lost(reply: TakeReply | undefined, request: TakeRequest | undefined): void {
    this.#isInDoubt = true;
    this.heard(reply, request);
  }

  /** A reply is on its way no more. */
  heard(reply: TakeReply | undefined, request: TakeRequest | undefined): void {
    if (!reply?.allowed || request?.flag !== Flag.take) return;
    const [key] = request.keys;
    if (Math.floor(reply.nowMs / WINDOW_MS) === this.#bucket) this.#onWay = Math.max(0, this.#onWay - key!.cost);
  }

  doubted(): void {
    this.#isInDoubt = true;
  }

  /** A reset has ended while calls were on their way. */
  voided(): void {
    this.#isVoid = true;
  }

  /** Leased units are spent although a reset has removed their charge. */
  loosen(): void {
    this.#isLoose = true;
  }

  died(): void {
    this.#died++;
    this.#isInDoubt = true;
  }

  changed(limit: number, nowMs: number): void {
    this.#roll(nowMs);
    this.#most = Math.max(this.#most, limit);
    if (limit > this.#number) this.#cameBack = ++this.#steps;
    this.#number = limit;
  }

  reset(nowMs: number, isBesideOthers: boolean, memories: readonly Memory[]): void {
    this.#roll(nowMs);
    this.#cameBack = ++this.#steps;
    this.#begun++;
    this.#admitted = 0;
    this.#alone = 0;
    this.#onWay = 0;
    this.#repaid = 0;
    this.#isVoid ||= isBesideOthers;
    this.#isLoose ||= isBesideOthers || this.stockIn(memories, nowMs) > 0;
  }

  told(decision: Decision, atMs: number, cost: number, nowMs: number): void {
    this.#roll(nowMs);
    if (!decision.allowed) return;
    const bucket = Math.floor((decision.source === "lease" ? nowMs : atMs) / WINDOW_MS);
    if (decision.source === "fallback") this.#alone += cost;
    else if (bucket === this.#bucket) this.#admitted += cost;
  }

  basis(memory: Memory, key: string): Basis | undefined {
    const record = recordOf(memory, key);
    return record && record.call > 0 ? { replies: record.replies, receivedAtMs: record.receivedAtMs } : undefined;
  }

  /** Leased units of the present bucket, and those that are reserved. @param sinceReset only leases since it began. */
  stockIn(memories: readonly Memory[], nowMs: number, sinceReset = false): number {
    let sum = 0;
    for (const { records } of memories) {
      for (const { leases, reset } of records.values()) {
        for (const { units, asks, number } of leases ?? []) {
          if (sinceReset && number <= reset) continue;
          const reserved = [...(asks?.values() ?? [])].flatMap((ask) => ask.reserved);
          for (const one of [...units, ...reserved]) {
            const isPresent = Math.floor(one.chargedAtMs / WINDOW_MS) === Math.floor(nowMs / WINDOW_MS);
            if (isPresent) sum += one.units;
          }
        }
      }
    }
    return sum;
  }

  /** @param isQuiet no call is on its way, and no request waits. @returns what is wrong. */
  check(nowMs: number, memories: readonly Memory[], charged: number, isQuiet: boolean): string | undefined {
    this.#roll(nowMs);
    const most = this.#most * this.#begun;
    if (this.#admitted > most) return `${this.#admitted} units were admitted in one window, and ${most} are the most`;
    const mostAlone = this.#most * (this.#isolates + this.#died) * this.#begun;
    if (this.#alone > mostAlone) return `${this.#alone} units were admitted alone, and ${mostAlone} are the most`;
    const held = this.#admitted + this.stockIn(memories, nowMs) + this.#onWay;
    if (!this.#isLoose && charged < held) {
      return `clients, stocks and messages hold ${held} units, and the store has charged ${charged}: some came back twice`;
    }
    const explained = held + this.#alone + this.#repaid;
    if (isQuiet && !this.#isInDoubt && !this.#isVoid && charged > explained) {
      return `the store has charged ${charged} units, and ${explained} are explained`;
    }
    return undefined;
  }

  /** A refusal that was told. @returns what is wrong. */
  checkRefusal(decision: Decision, { basis, resetAt, localMs, nowMs, trustedMs, look }: Refusal): string | undefined {
    const step = basis && this.#stepOf.get(basis.replies);
    if (!basis || step === undefined) return undefined;
    if (decision.source === "cache" && step < resetAt) return "refused from memory by counts from before the reset";
    const hasComeBack = this.#cameBack > step;
    if (decision.source === "cache" && look(nowMs).allowed) {
      if (!hasComeBack) return "refused from memory, and the store would have admitted: no unit came back meanwhile";
      if (localMs - basis.receivedAtMs >= trustedMs) return "refused from memory by a reply that is too old";
    }
    const { retryAfterMs } = decision;
    if (retryAfterMs === undefined || decision.source === "lease") return undefined;
    if (this.#charged <= step && !look(nowMs + retryAfterMs).allowed) {
      return `told to wait ${retryAfterMs} ms, and alone it would be refused then`;
    }
    const soonerMs = retryAfterMs - CLOCK_ERROR_MS;
    if (soonerMs > 0 && !hasComeBack && look(nowMs + soonerMs).allowed) {
      return `told to wait ${retryAfterMs} ms, and it would be admitted ${CLOCK_ERROR_MS} ms earlier`;
    }
    return undefined;
  }

  /** The form of the step in which the store has replied this. */
  stepOf(replies: readonly LimitReply[] | undefined): string {
    return stepForm((replies && this.#stepOf.get(replies)) ?? 0);
  }

  form(): string {
    const units = [this.#admitted, this.#alone, this.#onWay, this.#repaid, this.#most, this.#begun, this.#died];
    return `${units} ${this.#isInDoubt} ${this.#isVoid} ${this.#isLoose} ${stepForm(this.#charged)} ${stepForm(this.#cameBack)}`;
  }

  #roll(nowMs: number): void {
    const bucket = Math.floor(nowMs / WINDOW_MS);
    if (bucket === this.#bucket) return;
    this.#bucket = bucket;
    this.#admitted = 0;
    this.#alone = 0;
    this.#onWay = 0;
    this.#repaid = 0;
    this.#begun = 1;
    this.#most = this.#number;
    this.#isInDoubt = false;
    this.#isLoose = false;
  }
}

/** Only the order of steps means anything: the form of a state renames them. */
export function stepForm(step: number): string {
  return `@${step}@`;
}
