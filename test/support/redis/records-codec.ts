// The stored bytes, written a second time in TypeScript: what lua/ does with cmsgpack.

import { Encoder } from "@msgpack/msgpack";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitRecord } from "../../../src/kernel/core/algorithms.ts";
import { type Records, recordIdOf } from "../../../src/kernel/core/records.ts";
import type { LogEntry } from "../../../src/kernel/core/sliding-log.ts";

export function encodeRecords(records: Records): Buffer {
  return encodeRow(records.flatMap(listOf));
}

/** The number that identifies a record. test/kernel/store/storage-schema.test.ts has the bytes that Redis stores. */
export const idOf = recordIdOf;

/** A record as the list of integers that Redis stores. */
export function listOf(record: LimitRecord): number[] {
  switch (record.kind) {
    case Kind.weighted:
    case Kind.whole:
      return [idOf(record), record.newest, ...record.counts];
    case Kind.fixedWindow:
      return [idOf(record), record.newest, record.count];
    case Kind.bucket:
      return [idOf(record), record.atMs, record.debt];
    case Kind.log:
      return [idOf(record), record.used, record.newestAtMs];
    case Kind.calendar:
      return [idOf(record), record.endsAtMs, record.count];
    case Kind.ban:
      return [idOf(record), record.endsAtMs, record.bans, ...record.counts];
  }
}

/**
 * The reverse: the records in a row of values. The row may end with nil. Returns no record unless the whole row is
 * valid.
 */
export function recordsIn(row: readonly unknown[]): Records {
  const records: LimitRecord[] = [];
  let at = 0;
  while (at < row.length && row[at] !== null) {
    const id = row[at];
    if (!isCount(id)) return [];
    const length = 3 + (Math.floor(id / 32) % 64);
    const list = row.slice(at, at + length);
    const record = list.every(isCount) ? recordOf(list) : undefined;
    if (record && !records.some((other) => idOf(other) === id)) records.push(record);
    at += length;
  }
  // Lua cannot tell nil at the end from the end of the row: a row that ends with nil is too short.
  return (row[at - 1] ?? null) === null ? [] : records;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Undefined if no limit looks for such a record. */
function recordOf([id = 0, first = 0, ...rest]: readonly number[]): LimitRecord | undefined {
  const [second = 0] = rest;
  const kind = id % 32;
  const buckets = Math.floor(id / 32) % 64;
  const span = Math.floor(id / 2048);
  // A window number that no clock reaches is invalid: see lua/window.lua.
  const isReached = first <= Number.MAX_SAFE_INTEGER / span;
  switch (kind) {
    case Kind.weighted:
    case Kind.whole:
      return isReached ? { kind, bucketMs: span, buckets, newest: first, counts: rest } : undefined;
    case Kind.fixedWindow:
      return isReached ? { kind, windowMs: span, newest: first, count: second } : undefined;
    case Kind.bucket:
      return { kind, windowMs: span, atMs: first, debt: second };
    case Kind.log:
      return { kind, windowMs: span, used: first, newestAtMs: second };
    case Kind.calendar:
      return { kind, calendar: span, endsAtMs: first, count: second };
    case Kind.ban:
      return { kind, format: 1, endsAtMs: first, bans: second, buckets: 15, counts: rest.slice(1) };
    default:
      return undefined;
  }
}

/** The bytes of one element of a log's list. */
export function encodeEntry({ atMs, cost }: LogEntry): Buffer {
  return encodeRow([atMs, cost]);
}

/** The bytes of the values, one after the other, without the head of a list. */
export function encodeRow(values: readonly unknown[]): Buffer {
  return Buffer.concat(values.map(encodeValue));
}

/** One encoder for all values: creating an encoder takes more time than encoding a value. */
const encoder = new Encoder();

/** Most integers are small: counts and what is left of them. */
const small = Array.from({ length: 128 }, (_, integer) => Buffer.from(encoder.encode(integer)));

export function encodeValue(value: unknown): Buffer {
  return (typeof value === "number" && small[value]) || Buffer.from(encoder.encode(value));
}
