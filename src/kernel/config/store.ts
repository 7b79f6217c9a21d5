/** The bindings that name the central store, checked in the same way for the gateway and for `storeFromEnv`. */

import { type Bindings, type Get, reading, type Wrong } from "./bindings.ts";
import { type CountsSettings, readCounts } from "./counts.ts";
import { readSetting } from "./fields/setting.ts";
import type { Parsed } from "./mistake.ts";
import { type RedisSettings, readRedis } from "./redis.ts";

/** At most one of the two. Neither: the memory store. */
export interface StoreSettings {
  readonly redis: RedisSettings | undefined;
  /** The Durable Object. It counts only if no Redis is configured. */
  readonly counts: CountsSettings | undefined;
}

export const STORE_SETTINGS = {
  REDIS_TIMEOUT_MS: { is: "integer", least: 1, most: 30_000, default: 250, counts: "milliseconds" },
} as const;

export function parseStore(bindings: Bindings): Parsed<StoreSettings> {
  const { get, wrong, mistakes } = reading(bindings);
  const value = readStore(get, wrong);
  return mistakes.length > 0 ? { mistakes } : { value };
}

export function readStore(get: Get, wrong: Wrong): StoreSettings {
  const timeoutMs = readSetting(STORE_SETTINGS, "REDIS_TIMEOUT_MS", get, wrong);
  const redis = readRedis(get, wrong, timeoutMs);
  const counts = readCounts(get, wrong, timeoutMs);
  return { redis, counts: redis ? undefined : counts };
}
