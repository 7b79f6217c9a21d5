/** How the records of a key are found again. Mirror: lua/records.lua (which also owns the codec: src keeps objects). */

import { Kind } from "./algorithm.ts";
import { algorithmOf, type LimitRecord, type LimitSpec } from "./algorithms.ts";

/**
 * The value of one key: a record per limit, in the order of the configuration that wrote it. A limit finds its record by
 * kind and what else tells it apart, whatever the order, so a changed configuration keeps the counts that it can keep.
 */
export type Records = readonly LimitRecord[];

/** What a limit's record is found by, as the script and the storage know it: an integer below 2^53. */
export function recordIdOf(limit: LimitSpec): number {
  const [, kind, a, buckets] = algorithmOf(limit).encode(limit);
  return (a * 64 + (kind <= Kind.whole ? buckets : 0)) * 8 + kind;
}

/** @param position where the record stands unless the configuration changed; looked at first. */
export function findRecord(records: Records, position: number, limit: LimitSpec): LimitRecord | undefined {
  const algorithm = algorithmOf(limit);
  const expected = records[position];
  if (expected && algorithm.isRecordOf(expected, limit)) return expected;
  return records.find((record) => algorithm.isRecordOf(record, limit));
}
