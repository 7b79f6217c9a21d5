/** What an isolate knows about one key of the store. Plain data. */

import type { LimitSpec, LimitValue, LimitView } from "../core/algorithms.ts";
import type { Records } from "../core/records.ts";
import type { LimitReply, LimitRequest } from "../core/take.ts";
import type { WindowLimit, WindowRecord } from "../core/window.ts";
import type { Lease } from "./lease.ts";

/**
 * The room of a record, the least important first. Each room has a bound of its own: a flood of new keys costs no
 * refusal, a flood of refused keys costs no call, and a flood of calls costs no leased unit.
 *
 * `far`: counts that are far from their limits. `close`: counts that may refuse, and own counts. `called`: a call is in
 * flight, or a request waits. `leased`: the isolate has leased units.
 */
export const Room = { far: 0, close: 1, called: 2, leased: 3 } as const;
export type Room = (typeof Room)[keyof typeof Room];

/** The newest reply of the store about one key. */
export interface KeyReply {
  /** When it came, by the local clock, in ms since the epoch. */
  receivedAtMs: number;
  /** When the store decided, by its own clock, in ms since the epoch. */
  storeAtMs: number;
  /** The number of the call. 0: there was no reply. */
  call: number;
  /** The last number that was given away when the reply came. */
  heard: number;
  /** The requested cost. */
  cost: number;
  /** The limits that were asked about: all limits of the key, or some of them. */
  limits: readonly LimitSpec[];
  /** One reply for each limit. */
  replies: readonly LimitReply[];
}

/** What an isolate knows about one key. */
export interface KeyRecord extends KeyReply {
  room: Room;
  /** The record was used while its room had this generation. */
  generation: number;
  bytes: number;
  /** The number of the last reset. Calls and units with a smaller number are void. */
  reset: number;
  /** Whether the call of the reply has settled units, or another call of the same millisecond of the store. */
  hasSettled: boolean;
  /** Whether the reply may refuse requests. */
  mayRefuse: boolean;
  /** Whether the isolate's own counts have begun with the reply. */
  isBegun: boolean;
  /** When the isolate has added units to these limits, by the store's clock. 0: it is not known, or some come back. */
  addedAtMs: number;
  /** One for each set of numbers, the newest first. */
  leases: Lease[] | undefined;
  /** undefined: nothing is on its way, and nobody waits. */
  pending: Pending | undefined;
  /** undefined: the isolate has decided nothing by itself. */
  own: OwnCounts | undefined;
  /** The units that it has sent to be charged. */
  sent: number;
  /** What replies that came too late have shown. undefined: the newest reply came in time. */
  shown: ShownCharges | undefined;
  /** undefined: no request under `shared` came. */
  shared: SharedPart | undefined;
}

/** What the newest reply has shown, and what was charged before it: older units weigh less. */
export interface ShownCharges {
  readonly limits: readonly LimitSpec[];
  readonly replies: readonly LimitReply[];
  readonly storeAtMs: number;
  /** What the isolate had sent when it asked for the reply. */
  readonly sent: number;
  /** The units that this isolate has charged, and all isolates. */
  own: number;
  all: number;
}

/** What an isolate knows about its part of a key under `shared`. Instants are by the local clock, in ms. */
export interface SharedPart {
  /** How often the isolate tells what it has admitted, in ms. */
  syncMs: number;
  /** How long the last call was on its way to the store, as far as it is known, in ms. */
  delayMs: number;
  /** One unit of this isolate stands for 1 / part units of all. 1: the isolate counts alone. */
  part: number;
  /** undefined: no reply has shown units of this isolate. */
  learned: LearnedPart | undefined;
  /** When the newest reply came; before the first, when the first request came. */
  heardAtMs: number;
  /** The units admitted lately: older ones weigh less. */
  recent: number;
  recentAtMs: number;
  /** When the counts were close to a limit last. */
  closeAtMs: number;
  /** Since the newest reply it has refused although units were left. */
  isHeldBack: boolean;
  /** The number, 0 to 1, with which parts of a unit are rounded, and since when. */
  rounding: number;
  roundedAtMs: number;
  /** The part of a unit that is not charged yet. */
  rest: number;
}

/** What replies have shown of a key. */
interface LearnedPart {
  /** The instant of the newest reply that did, by the store's clock, in ms. */
  readonly atMs: number;
  readonly limits: readonly LimitSpec[];
  readonly views: readonly LimitView[];
  /** The units that this isolate and the others have charged lately: older ones weigh less. */
  readonly own: number;
  /** The instant of `own`: the newest reply that has shown units of this isolate. */
  readonly ownAtMs: number;
  /** The units of this isolate that are hardly chance, at the newest reply. */
  readonly surely: number;
  readonly others: number;
  /** What the others have charged between the last two replies. */
  readonly othersPerMs: number;
  /** The instant of the newest reply that has shown a new unit. */
  readonly busyAtMs: number;
  /** Replies show what the others have charged, and not how much they charge now. */
  readonly isFirst: boolean;
  /** This isolate's part of what all charge, 0 to 1. */
  part: number;
}

/** What the isolate has counted while the store had no answer. */
export interface OwnCounts {
  records: Records | undefined;
  /** The values of limits that have a limit key, by limit key. */
  readonly values: Map<string, LimitValue>;
  /** Units that the store has surely not charged, the oldest first: one for each set of calendar periods. */
  debts: readonly Debt[];
  /** Debts that are on their way to the store, or have perhaps arrived there, by number. */
  readonly repaying: Map<number, SentDebt>;
  /** Units among the records that are left to other isolates. Nobody has surely used them. Absent: none are. */
  others?: { readonly units: number; readonly untilMs: number } | undefined;
}

/** Units that requests ask the store for, or wait for. */
export interface PendingUnits {
  readonly units: number;
  /** When it began, by the local clock, in ms since the epoch. */
  readonly atMs: number;
}

/** A take without an answer. */
interface UnansweredCall extends PendingUnits {
  /** The units that the request itself needs. A lease asks for more, to have units for later requests. */
  readonly needed: number;
  /** Whether the isolate's own counts have charged what the request needs. */
  isCounted: boolean;
  /** As in the record, with this call. */
  readonly sent: number;
}

/** A waiting request. */
interface WaitingRequest extends PendingUnits {
  /** The number of the lease from which it hopes for units. 0: it hopes for none. */
  readonly lease: number;
}

interface PendingKinds {
  /** Decisions that the store is asked for, until their time budget ends. */
  asked: PendingUnits;
  /** Takes without an answer. The store may have charged them. */
  unanswered: UnansweredCall;
  /** Requests that wait for the answer to another request. */
  waiting: WaitingRequest;
}

/** What has begun and not ended yet, by number, the oldest first. Absent: nothing of this kind is pending. */
export type Pending = { [K in keyof PendingKinds]?: Map<number, PendingKinds[K]> | undefined };

/** Units of one key that the store has surely not charged. */
export interface Debt {
  /** A calendar limit names an instant of the period in which the units were admitted, by the store's clock. */
  readonly limits: readonly LimitRequest[];
  /**
   * The longest window and the smallest limit of the key. If requests had different numbers, the largest of them count.
   */
  readonly span: WindowLimit;
  readonly record: WindowRecord;
  /** The number of the first addition to this debt. */
  readonly since: number;
}

/** A debt on its way to the store. */
export interface SentDebt extends Debt {
  /** As in the record, with this call. */
  readonly sent: number;
}
