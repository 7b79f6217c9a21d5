/**
 * Takers answer takes: an isolate for one place (isolate.ts), several places together (features/places), or a store as
 * it is (plain.ts). An outage is an answer too: each line of a request says what becomes of it without its store.
 */

import type { Source } from "../core/decision.ts";
import type { Flag } from "../core/layout.ts";
import type { Policy } from "../core/policy.ts";
import type { KeyRequest, Receipt, TakeReply, TakeRequest } from "../core/take.ts";
import type { LateReply, StoreErrorCode } from "../store/store.ts";

/** Who admits a request: the store (`strict`), or the isolate by units that it has leased, or by its part. */
export type Consistency = Policy["consistency"];

/** Keeps work alive after the answer: an `ExecutionContext`, for example. */
export interface Background {
  /** Tells the runtime not to end this work with the answer. */
  waitUntil(work: Promise<unknown>): void;
}

/** A key as an isolate is asked about it. Its store reads the `KeyRequest`. */
export interface AskedKey extends KeyRequest {
  /** For how long a reply about this key may refuse other requests, in ms, if the isolate's default is longer. */
  readonly trustedMs?: number;
  /** How often the isolate tells the store what it has admitted under `shared`, in ms. */
  readonly syncMs?: number;
  /** Another key of the request, which may refuse it (gates.ts). Absent: no key does. */
  readonly gate?: KeyRequest;
  /** Whether somebody asks what is certainly used under `shared`. */
  readonly isWarned?: true;
}

/** As an isolate is asked. */
export interface AskedRequest extends TakeRequest {
  readonly keys: readonly AskedKey[];
}

/** One key of a request. */
export interface Line {
  readonly request: AskedKey;
  /** What becomes of the request while the store of this key has no answer. A policy in shadow never denies. */
  readonly onFailure: Policy["onStoreFailure"];
}

/** What is asked about all lines of a request together. */
export interface Inquiry<L extends Line = Line> {
  readonly lines: readonly L[];
  readonly flag: Exclude<Flag, typeof Flag.giveBack>;
  /** The number of the request; 0: it holds no slots. */
  readonly slot: number;
}

/** How it is asked. */
export interface Call {
  /** Keeps a call to the store alive if the request ends before the reply. Absent: nothing is leased. */
  readonly background?: Background | undefined;
  /** Shared with other attempts of the same decision. Absent: this is the only one. */
  readonly notes?: DecisionNotes | undefined;
  /** Only an answer of the store will do: without one the answer is `unavailable`, whatever the lines say. */
  readonly mustHear?: true | undefined;
  /** Other places are asked about other lines of the request, and may refuse it. */
  readonly isPart?: true | undefined;
  /** Keys in several hash slots of a Redis Cluster are no outage: the answer is `apart`. */
  readonly mayBeApart?: true | undefined;
  /** Another place has refused the request. A slot is then given back a second time if the first one gets no answer. */
  readonly isUndo?: true | undefined;
}

/** What several attempts of one decision share. Takers write into it. */
export interface DecisionNotes {
  /** When the first attempt began, by the local clock, in ms since the epoch. Absent: it has not begun. */
  beganAtMs?: number;
  /** The places that had no answer to an earlier attempt, with the answer that may still come. */
  readonly failed: Map<unknown, LateReply | undefined>;
}

/** What was said about some lines. */
export interface PartReply<L extends Line = Line> {
  readonly lines: readonly L[];
  readonly reply: TakeReply;
  readonly source: Source;
}

/** What was charged in one place, or by the isolate in its stead. */
export interface Taken {
  readonly receipts: readonly Receipt[];
  /** The number of the request there; 0: it holds no slots. */
  readonly slot: number;
  /** The last number that the isolate had given away when the take began: what was reset since is not given back. */
  readonly since: number;
  readonly by: Settler;
}

/** One receipt of it. */
export interface Charge extends Omit<Taken, "receipts"> {
  readonly receipt: Receipt;
}

/** What becomes of a charge. */
export interface Change {
  readonly charge: Charge;
  /** How many of its units go back. Negative: so many more are charged, also above the limits. */
  readonly back: number;
  /** Its slots go back too. */
  readonly frees: boolean;
}

/** Who has charged, and therefore settles. */
export interface Settler {
  /** Never rejects because of a store. */
  settle(changes: readonly Change[], call: Call): Promise<void>;
  /** Renews slots. False: it will not succeed later either. */
  renew(charges: readonly Charge[], call: Call): Promise<boolean>;
  /** No other place has refused the request. Absent: nothing follows from that. */
  keep?(background: Background | undefined): void;
}

export interface Answer<L extends Line = Line> {
  /** `apart`: the keys lie in several hash slots of a Redis Cluster, and nothing was done. */
  readonly outcome: "admitted" | "refused" | "unavailable" | "apart";
  readonly source: Source;
  /** The instant of the decision by the clock of the store, ms since the epoch. 0: no counts were looked at. */
  readonly atMs: number;
  readonly replies: readonly PartReply<L>[];
  /** By the isolate's own counts beside those of a store: nobody is shown their numbers. Absent: none are. */
  readonly hidden?: readonly PartReply<L>[];
  /** What an admitted request was charged. */
  readonly taken: readonly Taken[];
  /** Why a store had no answer. Absent: all had one. */
  readonly failure?: StoreErrorCode;
  /** The lines whose store had no answer, with `failure`. */
  readonly unanswered?: readonly L[];
  /** Fulfilled when what was charged in vain has come back. Absent: nothing was. */
  readonly undone?: Promise<unknown>;
}

export interface Taker {
  /** Never rejects because of a store. */
  take<L extends Line>(ask: Inquiry<L>, call: Call): Promise<Answer<L>>;
  /** The refusal that the isolate knows without asking a store. Undefined: it knows none. Charges nothing. */
  known<L extends Line>(ask: Inquiry<L>, call: Call): Promise<Answer<L> | undefined>;
  /** Whether the store would surely refuse this line, although nobody may know for how long. Calls nothing. */
  surelyRefuses(line: Line): boolean;
  /** Units of these keys of a store have come back by a call that the taker has not made: no memory may refuse. */
  returned(keys: readonly string[]): void;
  /** Forgets the counts of these keys of a store. @throws {StoreError} if a store does not answer. */
  reset(keys: readonly string[]): Promise<void>;
  /**
   * Tells the store what it is owed, gives back what is held ahead of demand, and waits for the calls that are under
   * way: for so many ms at most. Nothing is held any more from now on. Never rejects because of a store.
   */
  close(withinMs: number): Promise<void>;
}

export const requestOf = ({ request }: Line): AskedKey => request;

/** As a store is asked. */
export function requestFor({ lines, flag, slot }: Inquiry): AskedRequest {
  return { keys: lines.map(requestOf), flag, slot };
}

/** The answer that one reply about all lines gives. @param charged who has charged, and since when: as in `Taken`. */
export function answerOf<L extends Line>(
  { lines, slot }: Inquiry<L>,
  reply: TakeReply,
  source: Source,
  { since, by }: Pick<Taken, "since" | "by">,
): Answer<L> {
  const { allowed, nowMs: atMs, charged: receipts } = reply;
  const taken = receipts.length > 0 ? [{ receipts, slot, since, by }] : [];
  return { outcome: allowed ? "admitted" : "refused", source, atMs, replies: [{ lines, reply, source }], taken };
}

export function chargesOf({ receipts, slot, since, by }: Taken): Charge[] {
  return receipts.map((receipt) => ({ receipt, slot, since, by }));
}

/** Gives everything back. */
export async function undo(taken: readonly Taken[], call: Call): Promise<void> {
  const settled = taken.map(async (one) => {
    const charges = chargesOf(one).filter(({ receipt }) => receipt.cost > 0);
    const changes = charges.map((charge) => ({ charge, back: charge.receipt.cost, frees: one.slot !== 0 }));
    if (changes.length > 0) await one.by.settle(changes, { ...call, isUndo: true });
  });
  await Promise.all(settled);
}

/**
 * Lets work go on if the request that began it ends: a client that goes away leaves no charge undone and no slot taken.
 */
export function keepAlive<T>(work: Promise<T>, background: Background | undefined): Promise<T> {
  try {
    background?.waitUntil(work.catch(() => {}));
  } catch {
    // The platform has no context for this request any more. The call is on its way: asking again would charge twice.
  }
  return work;
}
