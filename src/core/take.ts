/**
 * One decision: checks every limit of every policy, then charges all of them or none. Pure: what is stored and the instant
 * go in, the reply and what to write come out. Mirror: lua/take.lua, step by step.
 */

import type { OwnValue } from "./algorithm.ts";
import { algorithmOf, hasOwnKey, type LimitOwn, type LimitSpec, type LimitView } from "./algorithms.ts";
import { findRecord, type Records } from "./records.ts";

/** What the decision does with the counts; the numbers are those of the script. */
export const Flag = { take: 0, chargeAnyway: 1, giveBack: 2, look: 3 } as const;
export type Flag = (typeof Flag)[keyof typeof Flag];

/** The group of everything that is enforced; every shadow policy has a group of its own above it. */
export const ENFORCED = 0;

/** The limits of one policy, partition and scope: one key of the store, and one more for each limit that has its own. */
export interface KeyRequest {
  readonly key: string;
  /** `ENFORCED`, or n > 0 for the n-th shadow policy: charged only if it admits too, and never blocks. */
  readonly group: number;
  /** Units, 0 … 10^9; 0 looks without charging. */
  readonly cost: number;
  /** 1 … 8, no two that would share a record. */
  readonly limits: readonly LimitSpec[];
}

export interface TakeRequest {
  /** At least one; no key twice. */
  readonly keys: readonly KeyRequest[];
  readonly flag: Flag;
  /** `Flag.giveBack`: an instant of the bucket to give back to, ms since the epoch. Else absent. */
  readonly atMs?: number;
  /** The number of this request, an integer below 2^53: what concurrency limits know it by. Absent without such limits. */
  readonly slot?: number;
}

/** What became of one limit. */
export interface LimitReply {
  readonly refused: boolean;
  /** The counts after the decision. */
  readonly view: LimitView;
  /** Refused by the isolate for so many milliseconds, whatever the counts say: it does not ask the store again before (leases). */
  readonly pausedMs?: number;
}

export interface TakeReply {
  /** The instant of the decision by the store's clock, ms since the epoch. */
  readonly nowMs: number;
  /** Every enforced limit admitted. */
  readonly allowed: boolean;
  /** One list for each key of the request, one reply for each of its limits, in the request's order. */
  readonly keys: readonly (readonly LimitReply[])[];
}

export interface WrittenRecords {
  readonly key: string;
  readonly records: Records;
  /** The records are as new after this many milliseconds, at least 1. */
  readonly expiryMs: number;
}

export interface WrittenOwn {
  readonly key: string;
  /** Undefined: nothing is left under the key. */
  readonly own: OwnValue<LimitOwn> | undefined;
}

/** What is under the keys of a request; `undefined` where there is nothing. */
export interface Stored {
  records(key: string): Records | undefined;
  own(key: string): LimitOwn | undefined;
}

/** The own key of a limit that has one: beside the key of its records, in the same slot of a cluster. */
export function ownKeyOf(key: string, limit: LimitSpec): string {
  const [, kind, span] = algorithmOf(limit).encode(limit);
  return `${key}#${kind}:${span}`;
}

/** KEYS of the script: for each policy, partition and scope the key of the records, and behind it the own ones of its limits. */
export function keysOfRequest({ keys }: TakeRequest): string[] {
  return keys.flatMap(({ key, limits }) => [key, ...limits.filter(hasOwnKey).map((limit) => ownKeyOf(key, limit))]);
}

export function take(
  stored: Stored,
  { keys, flag, atMs = 0, slot = 0 }: TakeRequest,
  nowMs: number,
): { readonly reply: TakeReply; readonly records: readonly WrittenRecords[]; readonly own: readonly WrittenOwn[] } {
  const refusedGroups = new Set<number>();
  const instant = { nowMs, atMs, slot };

  const checked = keys.map(({ key, group, cost, limits }) => {
    const found = stored.records(key);
    const checks = limits.map((limit, l) => {
      const algorithm = algorithmOf(limit);
      const own = hasOwnKey(limit) ? stored.own(ownKeyOf(key, limit)) : undefined;
      const state = algorithm.read(findRecord(found ?? [], l, limit), own, limit, nowMs);
      const refused = flag !== Flag.giveBack && !algorithm.admits(state, limit, cost, nowMs);
      if (refused) refusedGroups.add(group);
      return { algorithm, limit, state, refused };
    });
    return { exists: found !== undefined, checks };
  });

  const written: WrittenRecords[] = [];
  const own: WrittenOwn[] = [];
  const replies = keys.map(({ key, group, cost }, k) => {
    const { exists, checks } = checked[k]!;
    const admitted = !refusedGroups.has(ENFORCED) && !refusedGroups.has(group);
    const charged = cost > 0 && flag !== Flag.look && (admitted || flag === Flag.chargeAnyway);
    const after = checks.map(({ algorithm, limit, state, ...check }) => {
      const change = flag === Flag.giveBack ? algorithm.giveBack : algorithm.charge;
      return { ...check, algorithm, limit, state: charged ? change(state, limit, cost, instant) : state };
    });
    const dropped = after.some(({ algorithm, state }) => algorithm.dropped?.(state));
    if ((charged && (flag !== Flag.giveBack || exists)) || dropped) {
      const records = after.flatMap(({ algorithm, state }) => algorithm.record(state) ?? []);
      const resets = after.map(({ algorithm, limit, state }) => algorithm.resetAfterMs(state, limit, nowMs));
      if (records.length > 0) written.push({ key, records, expiryMs: Math.max(1, ...resets) });
    }
    for (const { algorithm, limit, state } of after) {
      if (!algorithm.own || !(charged || algorithm.dropped?.(state))) continue;
      own.push({ key: ownKeyOf(key, limit), own: algorithm.own(state, limit, nowMs) });
    }
    return after.map(({ algorithm, limit, state, refused }): LimitReply => {
      return { refused, view: algorithm.view(state, limit, cost, refused) };
    });
  });

  return { reply: { nowMs, allowed: !refusedGroups.has(ENFORCED), keys: replies }, records: written, own };
}
