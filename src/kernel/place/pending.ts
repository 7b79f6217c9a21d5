/** What requests of this isolate have begun and not ended yet, under one key. */

import type { KeyRequest } from "../core/take.ts";
import { keep, type Memory, recordOf } from "./memory.ts";
import type { KeyRecord, Pending, PendingUnits } from "./record.ts";

/** Units no longer count after this long, in ms: their request was ended before it could take them back. */
export const UNITS_FORGOTTEN_MS = 1_000;

type PendingKind = keyof Pending;
type One<K extends PendingKind> = NonNullable<Pending[K]> extends Map<number, infer T> ? T : never;

/** @param forgottenMs what began so long ago counts no more: the runtime has ended its request before it could end. */
export function beginPending<K extends PendingKind>(
  record: KeyRecord,
  kind: K,
  number: number,
  one: One<K> & PendingUnits,
  forgottenMs: number,
): void {
  record.pending ??= { asked: undefined, unanswered: undefined, waiting: undefined };
  record.pending[kind] ??= new Map() as NonNullable<Pending[K]>;
  const all = record.pending[kind] as Map<number, PendingUnits>;
  // Requests that never ended must not pile up under a busy key.
  for (const [oldest, { atMs }] of all) {
    if (Math.abs(one.atMs - atMs) < forgottenMs) break;
    all.delete(oldest);
  }
  all.set(number, one);
}

/** Ends what has begun under this number, for all keys of a request. */
export function endPending(memory: Memory, keys: readonly KeyRequest[], kind: PendingKind, number: number): void {
  for (const { key } of keys) {
    const record = recordOf(memory, key);
    const all = record?.pending?.[kind];
    if (!all) continue;
    // Most often it is the only one: nothing is taken out of what is dropped.
    if (all.size === 1 && all.has(number)) dropEmpty(record!, kind);
    else all.delete(number);
    keep(memory, record!);
  }
}

/** What is pending, once what is forgotten is dropped. Thousands may be pending under one key: no list is made. */
export function recentPending<K extends PendingKind>(
  record: KeyRecord,
  kind: K,
  atMs: number,
  forgottenMs: number,
): Pending[K] | undefined {
  const all = record.pending?.[kind];
  if (!all) return undefined;
  for (const [number, one] of all) if (Math.abs(atMs - one.atMs) >= forgottenMs) all.delete(number);
  if (all.size === 0) dropEmpty(record, kind);
  return record.pending?.[kind];
}

/** The units that this isolate is asking the store for. */
export function unitsAsked(record: KeyRecord | undefined, atMs: number): number {
  if (!record?.pending?.asked) return 0;
  return sumOf(recentPending(record, "asked", atMs, UNITS_FORGOTTEN_MS));
}

/** The units that requests wait for. @param lease as in `WaitingRequest`. */
export function unitsWaiting(record: KeyRecord | undefined, lease: number, atMs: number): number {
  if (!record?.pending?.waiting) return 0;
  return sumOf(recentPending(record, "waiting", atMs, UNITS_FORGOTTEN_MS), (one) => one.lease === lease);
}

function sumOf<T extends PendingUnits>(all: Map<number, T> | undefined, isCounted = (_: T) => true): number {
  let sum = 0;
  for (const one of all?.values() ?? []) if (isCounted(one)) sum += one.units;
  return sum;
}

function dropEmpty(record: KeyRecord, kind: PendingKind): void {
  record.pending![kind] = undefined;
  const { asked, unanswered, waiting } = record.pending!;
  if (!asked && !unanswered && !waiting) record.pending = undefined;
}
