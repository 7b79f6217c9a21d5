/** The bindings that name the central store, checked in the same way for the gateway and for `storeFromEnv`. */

import { type Bindings, type Get, readInteger, reading, type Wrong } from "./bindings.ts";
import { type CountsSettings, readCounts } from "./counts.ts";
import type { Parsed } from "./mistake.ts";
import { type RedisSettings, readRedis } from "./redis.ts";

/** At most one of the two. Neither: the memory store. */
export interface StoreSettings {
  readonly redis: RedisSettings | undefined;
  /** The Durable Object. It counts only if no Redis is configured. */
  readonly counts: CountsSettings | undefined;
}

const TIMEOUT_MS = { min: 1, max: 30_000, fallback: 250, unit: "milliseconds" };

export function parseStore(bindings: Bindings): Parsed<StoreSettings> {
  const { get, wrong, mistakes } = reading(bindings);
  const value = readStore(get, wrong);
  return mistakes.length > 0 ? { mistakes } : { value };
}

export function readStore(get: Get, wrong: Wrong): StoreSettings {
  const timeoutMs = readInteger("REDIS_TIMEOUT_MS", "ERR_REDIS_TIMEOUT_MS", TIMEOUT_MS, get, wrong);
  const redis = readRedis(get, wrong, timeoutMs);
  const counts = readCounts(get, wrong, timeoutMs);
  return { redis, counts: redis ? undefined : counts };
}
