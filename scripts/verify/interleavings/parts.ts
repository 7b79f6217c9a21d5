/** What an execution is made of. Plain data. */

import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";
import type { Memory } from "../../../src/kernel/place/memory.ts";
import type { Answer, Consistency, PartReply, Taker } from "../../../src/kernel/place/taker.ts";
import type { Cell } from "./cells.ts";
import type { ToldAccount } from "./told.ts";

export type Choice = readonly [name: string, ...on: (number | string)[]];

/** What an isolate keeps of one place. */
export interface HomePlace {
  readonly home: Home;
  /** The position in the list of places. */
  readonly index: number;
  readonly memory: Memory;
  /** The clock was set back, and no call to this place has shown it since. Until then the isolate cannot know. */
  isStepped: boolean;
}

/** What an isolate owes to a cell. */
export interface Account {
  /** Units that it owes to the store, those of them that it has sent, and when it owed the first of them. */
  owed: number;
  repaid: number;
  /** Those of them that were debts when they were sent. The others are what settlements have charged at once. */
  debtsSent: number;
  owesSinceMs: number;
  /** The step of the cell in which the last reset of this isolate has arrived. */
  resetAt: number;
  /** What it has admitted under `shared`. undefined: the cell is of another kind. */
  readonly told: ToldAccount | undefined;
}

export interface Home {
  readonly name: string;
  readonly places: readonly HomePlace[];
  readonly takers: Readonly<Record<Consistency, Taker>>;
  /** By the index of the cell. */
  readonly accounts: readonly Account[];
  /** Its clock less the clock of the stores, when it began and now. */
  readonly clockMs: number;
  offsetMs: number;
}

/** Units that a request in flight has charged. */
export interface Charged {
  readonly cell: Cell;
  /** Less those that were given back. */
  units: number;
  /** An instant of their bucket, ms since the epoch. */
  readonly atMs: number;
  /** In the isolate's own counters. */
  readonly isAlone: boolean;
  /** A reset has removed the charge. */
  isReset: boolean;
  /** The `debtsSent` of the isolate when it owed these. undefined: it does not owe them. */
  owedAfter: number | undefined;
}

/** An admitted request that has not ended, and what it may do. */
export interface Held {
  /** What it is doing. */
  readonly acting: string[];
  /** The units with which it is settled. */
  settlesWith: number | undefined;
  renew?: (() => Promise<unknown>) | undefined;
  release?: (() => Promise<unknown>) | undefined;
  extend?: (() => Promise<unknown>) | undefined;
  settle?: ((used: number) => Promise<unknown>) | undefined;
}

/** A request, a reset or a settlement, with everything that it does in the background. */
export interface Flow {
  readonly id: number;
  readonly home: Home;
  readonly name: string;
  /** What it can keep across an await beside its request, see `note`. */
  trace: { readonly event: string }[];
  isTold: boolean;
  isAdmitted: boolean;
  /** Of a reset, by cell: the step of the cell in which it has arrived. */
  readonly resetAt: number[];
  /** The cells for which it was admitted without their store. */
  alone: readonly Cell[];
  /** What it keeps of each place until its answer is told: the questions about other keys, the last one last. */
  places: FlowPlace[][];
  /** The id by which it is charged once. 0: it has none. */
  onceId: number;
  /** Its number at the stores. 0: it holds no slots. */
  slot: number;
  /** The oldest first. */
  readonly charged: Charged[];
  /** undefined: it holds nothing. */
  held: Held | undefined;
  /** It was refused, or has begun to release or settle what it holds. */
  isOver: boolean;
  /** Nobody will ever release or settle what it holds. */
  isForgotten: boolean;
  /** Its isolate has begun a reset since: what it has charged does not come back, whether the reset arrives or not. */
  isReset: boolean;
}

/** What an answer about one key is made by. */
export interface Basis {
  /** The step of the cell in which the store has replied it. undefined: not known. */
  readonly step: number | undefined;
  /** A wait that is told now may be computed from any instant since this one, in ms by the store's clock. */
  readonly sinceMs: number;
  /** The limits of the key have refused. */
  readonly isRefused: boolean;
}

/** What a flow keeps of one question to a place. */
export interface FlowPlace {
  /** What is asked about. Absent: it was not asked yet. */
  keys?: readonly string[];
  /** The last reply of the store to a take. After no answer: the late one. */
  heard?: { readonly request: TakeRequest; readonly reply: TakeReply };
  /** What the isolate has answered to the decider. "": it has no answer. */
  answer?: PartReply | "";
  /** How the isolate decides in its stead, and when: what it has charged it keeps until the other places answer. */
  alone?: Pick<Answer, "outcome" | "atMs">;
  /** What that answer is made by, key by key. */
  bases?: ReadonlyMap<string, Basis>;
  /** A take was surely not run. */
  isNotRun?: boolean;
}

export interface Sleep {
  readonly id: number;
  readonly flow: Flow;
  /** The position of the place for which it waits. */
  readonly place: number;
  readonly begun: object;
  readonly wakesAtMs: number;
  wake(): void;
}

export interface Message {
  readonly id: number;
  /** undefined: nobody waits for the reply any more. */
  flow: Flow | undefined;
  /** What has sent it, even if it waits no more. */
  readonly sender: Flow;
  /** Whose message it is, and to which place it goes. */
  readonly at: HomePlace;
  readonly words: string;
  /** When it was sent: the flow keeps it until the reply. */
  readonly sent: object;
  /** undefined: a reset of all keys of the place. */
  readonly request: TakeRequest | undefined;
  readonly budgetEndsAtMs: number;
  state: "sent" | "arrived" | "lost";
  isLate: boolean;
  /** Nobody books what the reply says: it was lost, or a reset of the isolate has begun or ended meanwhile. */
  isVoid: boolean;
  reply: TakeReply | undefined;
  resolve(reply: TakeReply | undefined): void;
  reject(error: unknown): void;
  answerLate(reply: TakeReply | undefined): void;
}

/** What a flow keeps of the question about one cell. */
export function keptOf(places: readonly (readonly FlowPlace[])[], { place, key }: Cell): FlowPlace {
  return places[place]!.find(({ keys }) => keys?.includes(key)) ?? places[place]!.at(-1)!;
}
