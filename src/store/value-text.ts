/**
 * Values as text, for storages that keep nothing else. What is read is checked: a value that `toText` did not write
 * counts as absent, and the next charge replaces it. To start counting anew is better than to fail forever. Redis does
 * the same (lua/records.lua).
 */

import type { LimitRecord, LimitValue } from "../core/algorithms.ts";
import type { Slots } from "../core/concurrency.ts";
import { Kind, MAX_BUCKETS, MAX_EXACT, MAX_WINDOW_MS } from "../core/layout.ts";
import type { Records } from "../core/records.ts";
import type { Log, LogEntry } from "../core/sliding-log.ts";

/** Slots are the only value that is not a list. */
export function toText(value: Records | LimitValue): string {
  return JSON.stringify(value instanceof Map ? { slots: [...value] } : value);
}

/** What a text says. Undefined: it is damaged. @param text what a storage has under a key, which may be no text. */
export function jsonIn(text: unknown): unknown {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The records that are whole. Undefined: there is no list. @param json what a text says. */
export function recordsOf(json: unknown): Records | undefined {
  return Array.isArray(json) ? json.filter(isRecord) : undefined;
}

/** The value of a limit key. Undefined: it is damaged, or the value of another kind. @param json what a text says. */
export function limitValueOf(json: unknown, kind: Kind): LimitValue | undefined {
  return kind === Kind.concurrency ? slotsOf(json) : logOf(json);
}

/** Whether it is a whole number that is exact in every language. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The numbers of each kind of record. The first one is a time in ms. A sliding window has a list of counts too. */
const NUMBERS: Readonly<Record<LimitRecord["kind"], readonly string[]>> = {
  [Kind.weighted]: ["bucketMs", "buckets", "newest"],
  [Kind.whole]: ["bucketMs", "buckets", "newest"],
  [Kind.fixedWindow]: ["windowMs", "newest", "count"],
  [Kind.bucket]: ["windowMs", "atMs", "debt"],
  [Kind.log]: ["windowMs", "used", "newestAtMs"],
};

function isRecord(value: unknown): value is LimitRecord {
  const record = (value ?? {}) as Readonly<Record<string, unknown>>;
  const { kind, newest = 0, buckets, counts } = record;
  if (!isCount(kind) || !Object.hasOwn(NUMBERS, kind)) return false;
  const numbers = NUMBERS[kind as LimitRecord["kind"]].map((name) => record[name]);
  const [ms] = numbers;
  if (!numbers.every(isCount) || !isFrom1(ms, MAX_WINDOW_MS)) return false;
  // A window that no clock reaches would stay the newest forever.
  if ((newest as number) > MAX_EXACT / ms) return false;
  if (kind !== Kind.weighted && kind !== Kind.whole) return true;
  return (
    isFrom1(buckets, MAX_BUCKETS) && Array.isArray(counts) && counts.length === buckets + 1 && counts.every(isCount)
  );
}

function slotsOf(json: unknown): Slots | undefined {
  const { slots } = (json ?? {}) as { readonly slots?: unknown };
  if (!Array.isArray(slots)) return undefined;
  return new Map(slots.filter(isPair));
}

function isPair(value: unknown): value is readonly [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every(isCount);
}

function logOf(json: unknown): Log | undefined {
  return Array.isArray(json) && json.every(isEntry) ? json : undefined;
}

function isEntry(value: unknown): value is LogEntry {
  const { atMs, cost } = (value ?? {}) as Partial<LogEntry>;
  return isCount(atMs) && isFrom1(cost, MAX_EXACT);
}

function isFrom1(value: unknown, most: number): value is number {
  return isCount(value) && value >= 1 && value <= most;
}
