/** A store in this isolate's memory: the same decision, for tests, `wrangler dev` and the time when Redis is away. */

import { BoundedMap } from "../bounded-map.ts";
import { checkOptions } from "../check-options.ts";
import { countsBytes, type LimitValue } from "../core/algorithms.ts";
import type { Records } from "../core/records.ts";
import type { Log } from "../core/sliding-log.ts";
import { type Stored, type TakeReply, type TakeRequest, take } from "../core/take.ts";
import type { Store } from "./store.ts";

/**
 * 2 x 20,000 keys of a two-bucket counter are 17 MiB of the 128 MiB that an isolate has, and no keys are more than 39 MiB: logs, slots
 * and many buckets count for several (Node 24, 2026-11; bench/isolate-counts.ts).
 */
const DEFAULT_MAX_KEYS = 20_000;

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * How many keys (policy, partition and scope; a log, or the slots of a limit, are one more) of up to 1 KiB each are remembered at
   * least, 1 or more; at most twice as many are. A key that takes more counts as several: a log of 10 entries, 9 slots or 6 windows,
   * for example; below 4,096 keys they share 4 MiB. The key used longest ago is forgotten first, and then starts at zero: with more
   * active keys than this, limits loosen. Default 20,000.
   */
  readonly maxKeys?: number;
}

/**
 * Limits hold for this isolate only: each edge location, and each isolate there, counts on its own.
 *
 * @throws {TypeError} if `maxKeys` is not a positive integer, or for an unknown option.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions("memoryStore", options, { maxKeys: "number" });
  const { maxKeys = DEFAULT_MAX_KEYS } = options;
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
    throw new TypeError(`memoryStore: maxKeys must be a positive integer, found ${String(maxKeys)}`);
  }
  const counts = createCounts(maxKeys);

  return {
    kind: "memory",
    // Keys never leave the isolate: hashing hides nothing here, it only keeps their length bounded.
    keySecret: "memory",

    take: async (request, nowMs = Date.now()) => counts.take(request, nowMs),

    async reset(keys) {
      for (const key of keys) counts.write(key, undefined);
    },

    async ping() {},
  };
}

/** What any key counts for at least, in bytes: twice what an ordinary one takes, so that there is room for heavy ones beside them. */
const KEY_BYTES = 1_024;
/** Room for the logs of a few clients, however few keys are asked for. */
const LEAST_BYTES = 4 * 1_024 * 1_024;

/** About what a value takes with its key, in bytes (Node 24, 2026-11; bench/isolate-counts.ts). */
function bytesOf(value: Records | LimitValue): number {
  if (value instanceof Map) return 300 + 90 * value.size;
  const list = value as Log | Records;
  const [first] = list;
  // Entries of a log are all alike, and up to 10,000.
  if (!first || "cost" in first) return 300 + 75 * list.length;
  return (list as Records).reduce((bytes, record) => bytes + countsBytes(record), 300);
}

/** Counts in memory, for at least `maxKeys` keys and at most twice as many: heavy ones count by their bytes, as several. */
export interface Counts {
  take(request: TakeRequest, nowMs: number): TakeReply;
  /** What is under a key: its records, or the value of a limit key. */
  read(key: string): Records | LimitValue | undefined;
  /** Replaces what is under a key, its records or the value of a limit key; undefined: nothing is. */
  write(key: string, value: Records | LimitValue | undefined): void;
}

export function createCounts(maxKeys: number): Counts {
  const keyBytes = Math.max(KEY_BYTES, Math.ceil(LEAST_BYTES / maxKeys));
  const values = new BoundedMap<string, Records | LimitValue>({
    maxSize: maxKeys * keyBytes,
    weigh: (value) => Math.max(keyBytes, bytesOf(value)),
  });
  // A key holds what was written under it: records and values of limit keys have different keys.
  const stored: Stored = {
    records: (key) => values.get(key) as Records | undefined,
    value: (key) => values.get(key) as LimitValue | undefined,
  };
  function write(key: string, value: Records | LimitValue | undefined): void {
    if (value) values.set(key, value);
    else values.delete(key);
  }

  return {
    write,
    read: (key) => values.get(key),
    take(request, nowMs) {
      const { reply, records, values } = take(stored, request, nowMs);
      for (const written of records) write(written.key, written.records);
      for (const written of values) write(written.key, written.kept?.value);
      return reply;
    },
  };
}
