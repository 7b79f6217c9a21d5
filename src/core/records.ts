/** How the records of a key are found. Mirror: lua/records.lua, which also has the codec: src keeps objects. */

import { algorithmOf, type LimitRecord, type LimitSpec } from "./algorithms.ts";
import { ID_BUCKETS, ID_KINDS } from "./layout.ts";

/**
 * The value of one key: a record per limit, in the order of the configuration that wrote it. A limit finds its record
 * by its id, in any order: a changed configuration keeps every count that it can keep.
 */
export type Records = readonly LimitRecord[];

/** The id by which the script and the storage find a limit's record: an integer below 2^43. */
export function recordIdOf(of: LimitSpec | LimitRecord): number {
  const limit = of as LimitSpec;
  const [a, buckets] = algorithmOf(limit).encode(limit);
  return (a * ID_BUCKETS + buckets) * ID_KINDS + limit.kind;
}

/** @param position where the record is unless the configuration has changed. It is looked at first. */
export function findRecord(records: Records, position: number, limit: LimitSpec): LimitRecord | undefined {
  const id = recordIdOf(limit);
  const expected = records[position];
  if (expected && recordIdOf(expected) === id) return expected;
  return records.find((record) => recordIdOf(record) === id);
}
