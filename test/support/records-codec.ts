// The stored bytes, written a second time: what lua/ does with cmsgpack.

import { encode } from "@msgpack/msgpack";
import { Kind } from "../../src/core/algorithm.ts";
import type { LimitRecord } from "../../src/core/algorithms.ts";
import type { Records } from "../../src/core/records.ts";
import type { LogEntry } from "../../src/core/sliding-log.ts";

export function encodeRecords(records: Records): Buffer {
  return encodeValue(records.map(listOf));
}

/** A record as the list that is stored. */
export function listOf(record: LimitRecord): number[] {
  switch (record.kind) {
    case Kind.weighted:
    case Kind.whole:
      return [record.kind, record.bucketMs, record.buckets, record.newest, ...record.counts];
    case Kind.fixedWindow:
      return [record.kind, record.windowMs, 0, record.newest, record.count];
    case Kind.bucket:
      return [record.kind, record.windowMs, 0, record.atMs, record.debt];
    case Kind.log:
      return [record.kind, record.windowMs, 0, record.used, record.newestAtMs];
  }
}

/** The other way round, of a list that is a record's. */
export function recordOf([kind, a, b, d, ...rest]: readonly number[]): LimitRecord {
  const [e] = rest;
  switch (kind) {
    case Kind.fixedWindow:
      return { kind, windowMs: a!, newest: d!, count: e! };
    case Kind.bucket:
      return { kind, windowMs: a!, atMs: d!, debt: e! };
    case Kind.log:
      return { kind, windowMs: a!, used: d!, newestAtMs: e! };
    default:
      return { kind: kind as 1 | 2, bucketMs: a!, buckets: b!, newest: d!, counts: rest };
  }
}

/** An element of a log's list. */
export function encodeEntry({ atMs, cost }: LogEntry): Buffer {
  return Buffer.concat([encodeValue(atMs), encodeValue(cost)]);
}

export function encodeValue(value: unknown): Buffer {
  return Buffer.from(encode(value));
}
