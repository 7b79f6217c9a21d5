/** A store in this isolate's memory. It runs the same decision: for tests, `wrangler dev` and while Redis is away. */

import { BoundedMap } from "../bounded-map.ts";
import { checkOptions } from "../check-options.ts";
import { countsBytes, type Value } from "../core/algorithms.ts";
import type { Records } from "../core/records.ts";
import type { Log } from "../core/sliding-log.ts";
import { type TakeReply, type TakeRequest, take } from "../core/take.ts";
import type { Store } from "./store.ts";

/**
 * 2 x 20,000 keys of a two-bucket counter take 17 MiB of an isolate's 128 MiB. No mix of keys takes more than 39 MiB,
 * because logs, slots and many buckets count as several keys (Node 24, 2026-11; bench/isolate-counts.ts).
 */
const DEFAULT_MAX_KEYS = 20_000;

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * How many keys of up to 1 KiB the store holds at least, 1 or more; it holds at most twice as many. A key is a
   * policy, partition and scope; a log, the slots of a limit, and an id (`once`) are one more key each. A larger key
   * counts as several, for example a log of 10 entries, 9 slots or 6 windows; below 4,096 keys all keys share 4 MiB.
   * The key used longest ago is forgotten first, and then starts at zero: with more active keys than this, limits
   * loosen. Default 20,000.
   */
  readonly maxKeys?: number;
}

/**
 * Makes a store in memory. Its limits hold for one process or Worker instance: each of them counts on its own.
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
    // Keys never leave the isolate: hashing only bounds their length and hides nothing here.
    keySecret: "memory",

    take: async (request, nowMs = Date.now()) => counts.take(request, nowMs),

    async reset(keys) {
      for (const key of keys) counts.write(key, undefined);
    },

    async ping() {},
  };
}

/** The least weight of a key, in bytes: twice the memory of an ordinary key, to leave room for large keys. */
const KEY_BYTES = 1_024;
/** The least total weight, in bytes: even a store of few keys has room for the logs of a few clients. */
const LEAST_BYTES = 4 * 1_024 * 1_024;

/** The approximate memory of a value with its key, in bytes (Node 24, 2026-11; bench/isolate-counts.ts). */
export function bytesOf(value: Records | Value): number {
  if ("endsAtMs" in value) return 300;
  if (value instanceof Map) return 300 + 90 * value.size;
  const list = value as Log | Records;
  const [first] = list;
  // A list of entries has up to 10,000 of equal size: multiply instead of adding them up.
  if (!first || !("kind" in first)) return 300 + 75 * list.length;
  return (list as Records).reduce((bytes, record) => bytes + countsBytes(record), 300);
}

export type Counts = ReturnType<typeof createCounts>;

/**
 * Counts in memory, for at least `maxKeys` keys and at most twice as many; a large key counts as several keys.
 *
 * @param onForget called with the number of keys that are forgotten to make room.
 */
export function createCounts(maxKeys: number, onForget?: (keys: number) => void) {
  const keyBytes = Math.max(KEY_BYTES, Math.ceil(LEAST_BYTES / maxKeys));
  const values = new BoundedMap<string, Records | Value>({
    maxSize: maxKeys * keyBytes,
    weigh: (value) => Math.max(keyBytes, bytesOf(value)),
    onForget,
  });
  function write(key: string, value: Records | Value | undefined): void {
    if (value) values.set(key, value);
    else values.delete(key);
  }

  /** The value of a key: records, or the value of one limit. */
  const read = (key: string) => values.get(key);

  return {
    write,
    read,
    take(request: TakeRequest, nowMs: number): TakeReply {
      const { reply, written } = take(read, request, nowMs);
      for (const { key, value } of written) write(key, value);
      return reply;
    },
  };
}
