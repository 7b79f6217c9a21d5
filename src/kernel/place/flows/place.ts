/** A place, and what a flow needs to call it. Between two awaits a flow runs only functions over the memory. */

import type { Source } from "../../core/decision.ts";
import type { Policy } from "../../core/policy.ts";
import type { Receipt, TakeReply, TakeRequest } from "../../core/take.ts";
import type { Store } from "../../store/store.ts";
import type { IsolateListener } from "../listener.ts";
import type { Memory } from "../memory.ts";
import { type Now, nowBy } from "../store-clock.ts";
import type { AskedKey, AskedRequest, Background, Call, Consistency, Inquiry, Settler } from "../taker.ts";
import type { Timing } from "../timing.ts";

export interface HeardReply {
  /** It came after the time budget of its call. */
  readonly isLate: boolean;
  /** The call has told the store what it missed: no request has asked. */
  readonly isTelling: boolean;
}

export interface Place {
  readonly store: Store;
  readonly memory: Memory;
  readonly timing: Timing;
  /** A number from 0 to 1: when and how often isolates tell under `shared`, and how parts of a unit are rounded. */
  readonly random: () => number;
  /** For how long a reply may refuse other requests, in milliseconds. */
  readonly trustedMs: () => number;
  /**
   * Writes an exception of the isolate's own code to the console. It is a bug, and no failure of the store: nothing
   * falls back, and no breaker hears of it. A shortcut that throws is skipped, and the store decides.
   */
  readonly reportBug: (error: unknown) => void;
  /** A reply has been heard. Absent: nothing follows from it. */
  readonly onReply?: ((heard: HeardReply, background: Background | undefined) => void) | undefined;
  /** Absent: nobody listens. */
  readonly listener?: IsolateListener | undefined;
  /** How many calls wait for their answer, and whether the program ends: then the store makes every admission. */
  readonly ending: { calls: number; isClosed: boolean };
  /** How the isolate may answer in its stead. */
  readonly wraps: readonly Wrap[];
}

/** A reply, and where it comes from. */
export interface SourcedReply {
  readonly reply: TakeReply;
  readonly source: Source;
  /** Who has charged the request. Absent: the store. */
  readonly by?: Settler;
}

/**
 * How an isolate answers in a place's stead: by units that it has leased, or by its part of the counts. A limiter has
 * the wraps that its policies ask for. Without one, an isolate answers by itself only what is certain (strict.ts).
 */
export interface Wrap {
  /** The policies that ask for it. */
  readonly consistency: Exclude<Consistency, "strict">;
  /** Whether it may answer a request under these policies. At most one wrap may. */
  suits(takes: readonly { readonly policy: Policy; readonly cost: number }[], flag: Inquiry["flag"]): boolean;
  /** Says more about a key of the store. */
  ask?(key: { -readonly [K in keyof AskedKey]: AskedKey[K] }, one: { readonly policy: Policy }): void;
  /** Answers a take or a look. undefined: the place does, as without it. @throws {StoreError} */
  answer(place: Place, request: AskedRequest, call: Call): SourcedReply | Promise<SourcedReply> | undefined;
  /** The refusal that is known without a call. */
  known(place: Place, request: TakeRequest, call: Call): SourcedReply | undefined;
  /** The store has replied to a call, and the memory has learned from the reply. */
  learn?(place: Place, heard: HeardCall): void;
  /** The counts of these keys are being forgotten. */
  reset?(place: Place, keys: readonly string[]): void;
  /** Hands over what the isolate holds of the store beyond its requests, to be given back: the program ends. */
  handOver?(place: Place): Receipt[];
  /** A request goes to the store, and this background may do more after its answer. */
  beside?(place: Place, background: Background, now: Now): void;
}

/** A call with its reply. The instants are by the local clock, in ms since the epoch. */
export interface HeardCall {
  readonly request: TakeRequest;
  readonly reply: TakeReply;
  /** The number of the call. */
  readonly call: number;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

/** It is not used after an await. */
export function nowAt({ memory, timing, trustedMs }: Place): Now {
  return nowBy(memory.clock, timing.nowMs(), trustedMs());
}

/** Runs code that no decision needs. undefined: it threw, and the console says so. */
export function attempt<T>({ reportBug }: Place, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    reportBug(error);
    return undefined;
  }
}

/** Tells the listener what has become of leased units. */
export function tellListener(place: Place): void {
  const { memory, listener } = place;
  if (!memory.events || memory.events.length === 0) return;
  const events = memory.events;
  memory.events = [];
  for (const { key, event, units } of events) attempt(place, () => listener?.leaseUnits(key, event, units));
}
