/**
 * Units that this isolate admitted although its store is known not to have counted them. They are charged once, when
 * the store answers again, as of that instant. Only what still counts is charged, and not more than the smallest limit
 * of the key holds: repaying alone keeps a client out for no longer than that limit does.
 *
 * A unit that was admitted in one period of a calendar is never charged to the next one. Thus a key has one debt for
 * each set of periods, and the store charges a calendar limit only if the period of the debt still lasts by its clock.
 */

import { Kind } from "../core/algorithm.ts";
import { algorithmOf, type LimitSpec, type LimitView } from "../core/algorithms.ts";
import { withoutSlots } from "../core/concurrency.ts";
import { ENFORCED, type KeyRequest, type LimitRequest } from "../core/take.ts";
import { slidingWindow, type WindowLimit } from "../core/window.ts";
import { keep, type Memory, ownCountsOf, recordFor, recordOf } from "./memory.ts";
import type { Debt, KeyRecord } from "./record.ts";
import { forgetRefusals } from "./replies.ts";
import { nowBy } from "./store-clock.ts";

/** The key charged longest ago is dropped first. */
const MAX_KEYS = 1_000;
/** Buckets per window: a debt expires at most one eighth of a window late. */
const PARTS = 8;
/** An outage across more ends of periods than this loses the oldest debt. */
const MAX_DEBTS_OF_KEY = 4;

/** What was added to the debts at once. */
export interface Added {
  readonly atMs: number;
  readonly number: number;
  /** The keys that owe it. */
  readonly keys: ReadonlySet<string>;
}

/** Units that the store has not charged. A calendar limit names an instant of their period, as in `Debt`. */
export interface UntoldUnits {
  readonly units: number;
  readonly limits: readonly LimitRequest[];
}

/**
 * Adds admitted units, without slots, without policies in shadow, and without requests that have an id: a repeat would
 * be charged, and the debt too. @param nowMs always by the same clock.
 */
export function addDebts(memory: Memory, keys: readonly KeyRequest[], nowMs: number): Added {
  const number = ++memory.last;
  // As the isolate's own counts do (own-counts.ts).
  const storeAtMs = nowBy(memory.clock, nowMs, 0).earliestMs ?? nowMs;
  // Remembered counts lack what is owed: their waits would be too short.
  forgetRefusals(
    memory,
    keys.flatMap(({ key, cost }) => (cost > 0 ? [key] : [])),
  );
  const owing = new Set<string>();
  for (const { key, group, cost, limits: all, once } of keys) {
    const limits = inPeriods(withoutSlots(all), storeAtMs);
    if (group !== ENFORCED || cost === 0 || limits.length === 0 || once) continue;
    owing.add(key);
    const debts = recordOf(memory, key)?.own?.debts ?? [];
    const last = debts.at(-1);
    const known = last && areOfSamePeriods(last.limits, limits) ? last : undefined;
    const span = largerSpan(spanOf(limits), known?.span);
    const before = slidingWindow.read(known?.record, undefined, span, nowMs);
    const record = slidingWindow.charge(before, span, cost, { nowMs, atMs: 0, slot: 0 });
    const debt = { limits, span, record, since: known?.since ?? number };
    owe(memory, key, [...(known ? debts.slice(0, -1) : debts), debt]);
  }
  return { atMs: nowMs, number, keys: owing };
}

/** Takes back units that were added. Units that were repaid meanwhile stay charged. */
export function takeBackDebts(memory: Memory, keys: readonly KeyRequest[], { atMs, number, keys: owing }: Added): void {
  for (const { key, cost } of keys) {
    const own = recordOf(memory, key)?.own;
    const debt = own?.debts.findLast(({ since }) => since <= number);
    if (!debt || !owing.has(key)) continue;
    const record = slidingWindow.giveBack(debt.record, debt.span, cost, { nowMs: atMs, atMs, slot: 0 });
    const less = { ...debt, record };
    own!.debts = own!.debts.map((one) => (one === debt ? less : one));
  }
}

/**
 * The units that counts of the store lack, because the key owes them. Units on their way to the store are among them,
 * and those of which nobody knows whether they have arrived. A unit that has left the longest window is no longer owed.
 *
 * @param nowMs as for `addDebts`. @param mayLack whether the counts may lack the repayment of this number.
 */
export function debtsOf({ own }: KeyRecord, nowMs: number, mayLack: (number: number) => boolean): UntoldUnits[] {
  const repaying = [...(own?.repaying ?? [])].flatMap(([number, debt]) => (mayLack(number) ? [debt] : []));
  return [...repaying, ...(own?.debts ?? [])].map(({ record, span, limits }) => {
    const { counts } = slidingWindow.read(record, undefined, span, nowMs);
    return { units: counts.reduce((sum, units) => sum + units, 0), limits };
  });
}

/** Whether counts are of the period in which the units of a debt were admitted. Only calendars have periods. */
export function isOfPeriod(limit: LimitRequest, view: LimitView): boolean {
  return !limit.atMs || periodOf(limit) === periodOf(limit, algorithmOf(limit).chargedAtMs(view, limit));
}

/**
 * Takes some debts out, the oldest first: no other request may repay them, and a charge that may have run is never
 * repeated.
 *
 * @param most how many keys. @returns the keys to charge in one call, and for how many more it has room. None: nothing
 * is to be repaid.
 */
export function beginRepayment(
  memory: Memory,
  nowMs: number,
  most: number,
): { readonly number: number; readonly keys: KeyRequest[]; readonly room: number } {
  const number = ++memory.last;
  const keys: KeyRequest[] = [];
  const isLone = memory.isApart || memory.lone > 0;
  const size = isLone ? 1 : most;
  for (const key of [...memory.owing].slice(0, size)) {
    memory.owing.delete(key);
    const record = recordOf(memory, key);
    const own = record?.own;
    const [debt, ...later] = own?.debts ?? [];
    if (!own || !debt) continue;
    const { limits, span, record: window } = debt;
    const cost = span.limit - slidingWindow.remaining(slidingWindow.read(window, undefined, span, nowMs), span, nowMs);
    if (cost > 0) {
      keys.push({ key, group: ENFORCED, cost, limits });
      record.sent += cost;
      own.repaying.set(number, { ...debt, sent: record.sent });
    }
    own.debts = later;
    // No key may be in one call twice.
    if (later.length > 0) memory.owing.add(key);
    keep(memory, record!);
  }
  const names = keys.map(({ key }) => key);
  if (names.length > 0) memory.repaying.set(number, names);
  if (isLone && names.length > 0) memory.lone = Math.max(0, memory.lone - 1);
  forgetOldRepayments(memory);
  return { number, keys, room: size - names.length };
}

/** Keeps the repayments under way to a bound: what became of the oldest will hardly be known any more. */
function forgetOldRepayments(memory: Memory): void {
  let all = 0;
  for (const one of memory.repaying.values()) all += one.length;
  for (const [oldest, { length }] of memory.repaying) {
    if (all <= MAX_KEYS) break;
    endRepayment(memory, oldest);
    all -= length;
  }
}

/**
 * The store has charged a repayment, or it will never be known.
 *
 * @returns the debts by key, without those of keys that were reset meanwhile.
 */
export function endRepayment(memory: Memory, number: number): [key: string, debt: Debt][] {
  const keys = memory.repaying.get(number) ?? [];
  memory.repaying.delete(number);
  return keys.flatMap((key): [string, Debt][] => {
    const record = recordOf(memory, key);
    const debt = record?.own?.repaying.get(number);
    if (!debt) return [];
    record!.own!.repaying.delete(number);
    return [[key, debt]];
  });
}

/** The store has surely not charged a repayment: it is owed again. @param nowMs when the repayment began. */
export function undoRepayment(memory: Memory, number: number, nowMs: number): void {
  for (const [key, debt] of endRepayment(memory, number)) oweAgain(memory, key, debt, nowMs);
}

/**
 * The store works, and would refuse this repayment again. One key may be the reason for all: the next calls repay one
 * key each, until that key has been found.
 *
 * @param keys how many keys the call was about. @param areApart they lie in several hash slots of a Redis Cluster.
 */
export function noteRefusal(memory: Memory, keys: number, areApart: boolean): void {
  memory.isApart ||= areApart && keys > 1;
  memory.lone = keys > 1 ? keys : 0;
}

/** Puts a debt back that was not repaid, at the instants of its admissions, beside debts that were added since. */
function oweAgain(memory: Memory, key: string, debt: Debt, nowMs: number): void {
  const debts = recordOf(memory, key)?.own?.debts ?? [];
  const same = debts.find(({ limits }) => areOfSamePeriods(limits, debt.limits));
  const { record: later, span } = same ?? {};
  const atMs = later ? Math.max(nowMs, later.newest * later.bucketMs) : nowMs;
  const record = slidingWindow.read(debt.record, undefined, debt.span, atMs);
  const counts = record.counts.map((units, b) => units + (later?.counts[b] ?? 0));
  const again = { ...debt, span: largerSpan(debt.span, span), record: { ...record, counts } };
  owe(memory, key, [again, ...debts.filter((one) => one !== same)]);
}

function owe(memory: Memory, key: string, debts: readonly Debt[]): void {
  const record = recordFor(memory, key);
  ownCountsOf(record).debts = debts.slice(-MAX_DEBTS_OF_KEY);
  keep(memory, record);
  memory.owing.delete(key);
  memory.owing.add(key);
  const [oldest] = memory.owing;
  if (memory.owing.size <= MAX_KEYS) return;
  memory.owing.delete(oldest!);
  const own = recordOf(memory, oldest!)?.own;
  if (own) own.debts = [];
}

/** The limits, each calendar limit with an instant of its period. */
function inPeriods(limits: readonly LimitSpec[], storeAtMs: number): readonly LimitRequest[] {
  if (!limits.some(hasPeriods)) return limits;
  return limits.map((limit) => (hasPeriods(limit) ? { ...limit, atMs: storeAtMs } : limit));
}

function areOfSamePeriods(one: readonly LimitRequest[], other: readonly LimitRequest[]): boolean {
  return other.every((limit, l) => !hasPeriods(limit) || periodOf(limit) === periodOf(one[l] ?? limit));
}

function hasPeriods(limit: LimitSpec): boolean {
  return algorithmOf(limit).periods !== undefined;
}

function periodOf(limit: LimitRequest, atMs = limit.atMs ?? 0): number {
  return algorithmOf(limit).bucketAt(limit, atMs);
}

/** The larger numbers of both: each request under the key was admitted up to its own numbers. */
function largerSpan(one: WindowLimit, other: WindowLimit = one): WindowLimit {
  return other.limit > one.limit ? other : one;
}

function spanOf(limits: readonly LimitSpec[]): WindowLimit {
  const capacities = limits.map((limit) => algorithmOf(limit).capacity(limit));
  const windowMs = Math.max(...capacities.map(({ windowMs }) => windowMs));
  const limit = Math.min(...capacities.map(({ units }) => units));
  return { kind: Kind.whole, limit, bucketMs: Math.ceil(windowMs / PARTS), buckets: PARTS };
}
