/**
 * One decision: checks every limit of every policy, then charges all of them or none. Pure: it gets what is stored and
 * the instant, and returns the reply and what to write. Mirror: lua/take.lua, step by step.
 *
 * The rules. Every key has a flag, and flags may differ within one call.
 * - `take`, `chargeAnyway` and `look` check every limit of their key at the key's cost. `giveBack` checks and refuses
 *   nothing.
 * - A limit that refuses, refuses for its whole group. The flag of its key does not matter. The call is allowed if no
 *   enforced limit refused.
 * - `take` charges its key if the call is allowed and the key's group did not refuse. Thus all keys of the enforced
 *   group are charged or none is, and the keys of a policy in shadow only with them.
 * - `chargeAnyway` charges its key whatever is decided. `giveBack` gives back to its key whatever is decided. `look`
 *   changes nothing.
 * - A cost of 0 changes nothing, under any flag.
 * - If a key has the id of a request (once.ts) and the request is a repeat, the limits of that key refuse nothing and
 *   are not charged. The repeat is counted where the key would be charged.
 * - A key that settles a reservation is charged, or gets back, only if the reservation was not settled before.
 */

import type { KeptValue } from "./algorithm.ts";
import {
  algorithmOf,
  hasLimitKey,
  type LimitRecord,
  type LimitSpec,
  type LimitValue,
  type LimitView,
  type Value,
  type ValueKind,
} from "./algorithms.ts";
import { ENFORCED, Flag } from "./layout.ts";
import {
  changeOnce,
  type Once,
  type OnceValue,
  onceKeyOf,
  type Repetition,
  type Replied,
  readOnce,
  repetitionOf,
} from "./once.ts";
import { findRecord, type Records, recordsOfOthers } from "./records.ts";

export { ENFORCED, Flag } from "./layout.ts";

/** Whether the reply to a call with this flag shows what a request would be told. */
export function decides(flag: Flag): boolean {
  return flag === Flag.take || flag === Flag.look;
}

export type LimitRequest = LimitSpec & {
  /**
   * With `Flag.giveBack`, an instant of this limit's bucket, ms since the epoch. Default: the key's. With
   * `Flag.chargeAnyway`, an instant of a calendar period: the limit is charged only if that period lasts. Default, and
   * 0: the present period is charged.
   */
  readonly atMs?: number;
};

/**
 * The limits of one policy, partition and scope. They have one key in the store, and one limit key more for each limit
 * that has one.
 */
export interface KeyRequest {
  /** The name under which the store keeps the counts: any text of up to 512 bytes. */
  readonly key: string;
  /**
   * `ENFORCED`, or n > 0 for the n-th policy in shadow, which is charged only if it admits too, and never blocks.
   */
  readonly group: number;
  /** Units, 0 … 10^9; 0 only peeks. */
  readonly cost: number;
  /** 1 to 8 limits. No two of them share a record. */
  readonly limits: readonly LimitRequest[];
  /**
   * Default: the flag of the request. In a request with `Flag.take` or `Flag.look` only calls that go straight to a
   * store may set it: src/kernel/place lets the request's flag say whether a call decides.
   */
  readonly flag?: Flag;
  /** With `Flag.giveBack`, an instant of the bucket to give back to, ms since the epoch. Default: the request's. */
  readonly atMs?: number;
  /** The id of the request, which is charged once. Not beside concurrency limits. Absent: it has none. */
  readonly once?: Once;
}

/** What a store is asked to decide in one call. */
export interface TakeRequest {
  /** At least one key, and no key twice. With their limit keys at most `MAX_KEYS`: the limiter checks it. */
  readonly keys: readonly KeyRequest[];
  /** The flag of every key without its own flag. */
  readonly flag: Flag;
  /** The instant of every key without its own instant. Default: 0, which is enough for slots. */
  readonly atMs?: number;
  /**
   * The number of this request, an integer below 2^53, by which concurrency limits know it. 0 or absent: the request
   * holds no slots.
   */
  readonly slot?: number;
}

/** The outcome for one limit. */
export interface LimitReply {
  /** This limit alone would have refused the cost. */
  readonly refused: boolean;
  /** The counts after the decision. */
  readonly view: LimitView;
  /**
   * How long the instance pauses after the store had too few units to lease, in ms. It refuses meanwhile, whatever the
   * counts say.
   */
  readonly pausedMs?: number;
  /** The counts are an estimate: no wait is reported shorter than this, in ms. */
  readonly leastWaitMs?: number;
  /** The units that are certainly used, if the counts have others too. Absent: they have none, or nobody asked. */
  readonly used?: number;
  /** The clock of the counts may be slow by this part: waits are reported so much longer. */
  readonly driftPart?: number;
  /** The request is a repeat under this key: the limit has not refused it, and is not charged. Absent: it is none. */
  readonly repeated?: true;
  /** The repeats of the request's id are used up under this key: the limit decides as without an id. */
  readonly beyond?: true;
  /** The reservation was settled before, with so many units, and this key has not changed. Absent: it was not. */
  readonly settled?: number;
}

/**
 * What a take has charged under one key, as the request that gives it back: sent with `Flag.giveBack` it undoes all of
 * it, and with fewer units a part. A part leaves out `once`, because it does not undo the request.
 */
export interface Receipt extends Pick<KeyRequest, "key" | "group" | "cost" | "once"> {
  /** When it was charged, by the store's clock, ms since the epoch. */
  readonly atMs: number;
  /**
   * Those that were charged. A limit whose newest bucket was later than `atMs`, because the store's clock had stepped
   * back, names an instant of that bucket.
   */
  readonly limits: readonly LimitRequest[];
}

/** What a store has decided. */
export interface TakeReply {
  /** The instant of the decision by the store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** Whether every enforced limit admitted. */
  readonly allowed: boolean;
  /** One list for each key of the request, one reply for each of its limits, in the request's order. */
  readonly keys: readonly (readonly LimitReply[])[];
  /**
   * The keys that were charged, in the request's order, also those of cost 0. A repeat is among them: giving it back
   * undoes the repeat. A peek and a give-back charge nothing.
   */
  readonly charged: readonly Receipt[];
}

/** What a decision leaves under one key. */
export interface Written {
  readonly key: string;
  /** What the value is about. Absent: they are records. */
  readonly kind?: ValueKind;
  /** undefined: the key is deleted. */
  readonly value: Records | Value | undefined;
  /** After this many ms the value means nothing any more. At least 1; 0 if the key is deleted. */
  readonly expiryMs: number;
}

/** What is stored under a key of a request: of this kind, or without a kind its records. `undefined`: nothing. */
export type Stored = (key: string, kind?: ValueKind) => Records | Value | undefined;

/** The receipt of a key that was charged with this flag. @param replies those of its limits. */
function receiptOf(
  { key, group, cost, limits, once }: KeyRequest,
  replies: readonly LimitReply[],
  flag: Flag,
  nowMs: number,
): Receipt {
  const charged = { key, group, cost, limits: chargedLimits(limits, replies, flag, nowMs), atMs: nowMs };
  if (!once) return charged;
  const [first] = replies;
  if (first?.beyond || flag !== Flag.take) return charged;
  return { ...charged, once: first?.repeated ? { ...once, isRepeat: true } : once };
}

/** @returns the same list if all limits were charged in the bucket of `nowMs`, as nearly always. */
function chargedLimits(
  limits: readonly LimitRequest[],
  replies: readonly LimitReply[],
  flag: Flag,
  nowMs: number,
): readonly LimitRequest[] {
  const atMs = (limit: LimitRequest, l: number) => algorithmOf(limit).chargedAtMs(replies[l]!.view, limit);
  let isUsual = flag === Flag.take;
  for (let l = 0; l < limits.length; l++) isUsual &&= atMs(limits[l]!, l) <= nowMs;
  if (isUsual) return limits;
  return limits.flatMap((limit, l) => {
    const chargedAtMs = atMs(limit, l);
    const { periods, bucketAt } = algorithmOf(limit);
    // A period that has ended is not charged.
    const isOver = periods && limit.atMs && bucketAt(limit, limit.atMs) !== bucketAt(limit, chargedAtMs);
    if (flag === Flag.chargeAnyway && isOver) return [];
    return [chargedAtMs > nowMs ? { ...limit, atMs: chargedAtMs } : limit];
  });
}

/** The whole reply of a store that has decided in other words: what it has charged follows from what it says. */
export function replyOf(request: TakeRequest, nowMs: number, replies: TakeReply["keys"]): TakeReply {
  const refused = refusedGroups(request.keys, replies);
  const allowed = !refused.has(ENFORCED);
  const charged: Receipt[] = [];
  for (let k = 0; k < request.keys.length; k++) {
    const key = request.keys[k]!;
    const flag = key.flag ?? request.flag;
    const isAdmitted = allowed && !refused.has(key.group);
    if (hasReceipt(flag, isAdmitted, key)) charged.push(receiptOf(key, replies[k]!, flag, nowMs));
  }
  return { nowMs, allowed, keys: replies, charged };
}

/** A settlement has none: nothing gives it back. */
function hasReceipt(flag: Flag, isAdmitted: boolean, { once }: KeyRequest): boolean {
  if (flag === Flag.take) return isAdmitted;
  return flag === Flag.chargeAnyway && once?.settles === undefined;
}

function refusedGroups(keys: readonly KeyRequest[], replies: TakeReply["keys"]): ReadonlySet<number> {
  // Most requests are admitted: nothing is made for them.
  let groups: Set<number> | undefined;
  for (let k = 0; k < keys.length; k++) {
    if (!replies[k]!.some(isRefused)) continue;
    groups ??= new Set();
    groups.add(keys[k]!.group);
  }
  return groups ?? NONE;
}

const NONE: ReadonlySet<number> = new Set();
const isRefused = ({ refused }: LimitReply) => refused;

/** The limit key of a limit that has one. It lies beside the key of its records, in the same hash slot of a cluster. */
export function limitKeyOf(key: string, limit: LimitSpec): string {
  return `${key}#${limit.kind}:${algorithmOf(limit).encode(limit)[0]}`;
}

/**
 * KEYS of the script: for each policy, partition and scope the key of the records, followed by the key of the request's
 * id and by the limit keys.
 */
export function keysOfRequest({ keys }: TakeRequest): string[] {
  const all: string[] = [];
  for (const { key, limits, once } of keys) {
    all.push(key);
    if (once) all.push(onceKeyOf(key, once));
    for (const limit of limits) if (hasLimitKey(limit)) all.push(limitKeyOf(key, limit));
  }
  return all;
}

export function take(
  stored: Stored,
  { keys, slot = 0, ...request }: TakeRequest,
  nowMs: number,
): { readonly reply: TakeReply; readonly written: readonly Written[] } {
  const refused = new Set<number>();
  const checked = keys.map(({ key, group, cost, limits, once, flag = request.flag }) => {
    // The casts hold: a key is asked for with one kind only.
    const found = stored(key) as Records | undefined;
    const known = once && readOnce(stored(onceKeyOf(key, once), "once") as OnceValue | undefined, nowMs);
    const repetition = once && repetitionOf(once, known, flag, cost);
    let others = found?.length ?? 0;
    const checks = limits.map((limit, l) => {
      const algorithm = algorithmOf(limit);
      const record = findRecord(found ?? [], l, limit);
      if (record) others--;
      const value = algorithm.values && (stored(limitKeyOf(key, limit), limit.kind) as LimitValue | undefined);
      const state = algorithm.read(record, value, limit, nowMs);
      const refused = repetition !== "repeat" && flag !== Flag.giveBack && !algorithm.admits(state, limit, cost, nowMs);
      return { algorithm, limit, state, refused };
    });
    if (checks.some((check) => check.refused)) refused.add(group);
    return { found, others, known, repetition, checks };
  });
  const allowed = !refused.has(ENFORCED);

  const written: Written[] = [];
  const replies: LimitReply[][] = [];
  const receipts: Receipt[] = [];
  for (let k = 0; k < keys.length; k++) {
    const { key, group, cost, limits, once, flag = request.flag, atMs = request.atMs ?? 0 } = keys[k]!;
    const admitted = allowed && !refused.has(group);
    const { found, others, known, repetition, checks } = checked[k]!;
    const shown = once && shownOf(once, known, repetition);
    let charged = cost > 0 && flag !== Flag.look && (admitted || flag !== Flag.take);
    if (once && (charged || once.settles !== undefined)) {
      const change = changeOnce(once, known, flag, repetition, nowMs);
      charged &&= change.changesLimits;
      if (change.written) written.push(writtenValue(onceKeyOf(key, once), "once", change.written.kept));
    }
    const records: LimitRecord[] = [];
    const reply: LimitReply[] = [];
    let expiryMs = 1;
    let dropped: boolean | undefined;
    for (const { algorithm, limit, state: before, refused } of checks) {
      const isBack = flag === Flag.giveBack;
      const change = isBack ? algorithm.giveBack : algorithm.charge;
      const instant = { nowMs, atMs: limit.atMs ?? (isBack ? atMs : 0), slot };
      const state = charged ? change(before, limit, cost, instant) : before;
      const hasDropped = algorithm.values?.dropped(state);
      dropped ||= hasDropped;
      const record = algorithm.records?.of(state);
      if (record) records.push(record);
      expiryMs = Math.max(expiryMs, algorithm.resetAfterMs(state, limit, nowMs));
      if (algorithm.values && (charged || hasDropped)) {
        const kept = algorithm.values.kept(state, limit, nowMs);
        written.push(writtenValue(limitKeyOf(key, limit), limit.kind, kept));
      }
      const view = algorithm.view(state, limit, cost, refused);
      reply.push(shown ? { refused, view, ...shown } : { refused, view });
    }
    if (((charged && (flag !== Flag.giveBack || found)) || dropped) && records.length > 0) {
      if (others > 0) {
        const { carried, lastEndsAfterMs } = recordsOfOthers(found!, limits, nowMs);
        records.push(...carried);
        expiryMs = Math.max(expiryMs, lastEndsAfterMs);
      }
      written.push({ key, value: records, expiryMs });
    }
    replies.push(reply);
    if (hasReceipt(flag, admitted, keys[k]!)) receipts.push(receiptOf(keys[k]!, reply, flag, nowMs));
  }

  return { reply: { nowMs, allowed, keys: replies, charged: receipts }, written };
}

/** What a reply says about the id of a request. */
function shownOf(
  { settles }: Once,
  known: OnceValue | undefined,
  repetition: Repetition | undefined,
): Replied | undefined {
  if (settles !== undefined) return known && { settled: known.used };
  return repetition && (repetition === "repeat" ? { repeated: true } : { beyond: true });
}

function writtenValue(key: string, kind: ValueKind, kept: KeptValue<Value> | undefined): Written {
  return { key, kind, value: kept?.value, expiryMs: kept?.expiryMs ?? 0 };
}
