/** How the records of a key are found. Mirror: lua/records.lua, which also has the codec: src keeps objects. */

import { algorithmOf, type LimitRecord, type LimitSpec } from "./algorithms.ts";
import { ID_BUCKETS, ID_KINDS, MAX_CARRIED, MAX_CARRIED_MS } from "./layout.ts";

/**
 * The value of one key: a record per limit, in the order of the configuration that wrote it, and then the records of
 * other configurations. A limit finds its record by its id, in any order: a changed configuration keeps every count
 * that it can keep.
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

/**
 * The records that none of the limits knows. They belong to another configuration over the same counts: the one before
 * a deploy, or that of a canary. Each key carries `MAX_CARRIED` of them along until they end. A record that has ended
 * or is damaged is left out.
 *
 * @returns when the last of them ends, in ms from `nowMs`; 0 if there are none.
 */
export function recordsOfOthers(
  records: Records,
  limits: readonly LimitSpec[],
  nowMs: number,
): { readonly carried: Records; readonly lastEndsAfterMs: number } {
  const known = new Set(limits.map(recordIdOf));
  const carried: LimitRecord[] = [];
  let lastEndsAfterMs = 0;
  for (const record of records) {
    if (known.has(recordIdOf(record)) || carried.length === MAX_CARRIED) continue;
    const endsAfterMs = algorithmOf(record).records!.endsAtMs(record) - nowMs;
    if (endsAfterMs <= 0 || endsAfterMs > MAX_CARRIED_MS) continue;
    carried.push(record);
    lastEndsAfterMs = Math.max(lastEndsAfterMs, endsAfterMs);
  }
  return { carried, lastEndsAfterMs };
}
