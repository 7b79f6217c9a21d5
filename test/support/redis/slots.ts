// Reads the slots of concurrency limits from Redis itself.

import { expect } from "vitest";
import { sharedRedis } from "./shared-redis.ts";

export interface Slots {
  /** The number of slots held now by policies whose name begins with `name`. Lost slots do not count. */
  held(): Promise<number>;
  /** Resolves when all are free. */
  free(): Promise<void>;
  /**
   * The instants at which the slots are lost unless they are renewed, in ms since the epoch by Redis's clock. Slots
   * that were lost since are included.
   */
  lostAtMs(): Promise<number[]>;
  /** The time by Redis's clock, in ms since the epoch. */
  nowMs(): Promise<number>;
  /** Resolves when Redis's clock has reached this instant, ms since the epoch. */
  clockReaches(atMs: number): Promise<void>;
}

/** How long each of these may take. Only a failing test waits this long. */
const PATIENCE = { timeout: 30_000, interval: 10 };

/** @param name as `uniqueName` made it. @param redis default: the Redis that all tests share. */
export function watchSlots(name: string, redis = sharedRedis()): Slots {
  const scores = async () => {
    const keys = await redis.keys(`hg:2:{${name}*#6:*`);
    const members = await Promise.all(keys.map((key) => redis.zrange(key, 0, "-1", "WITHSCORES")));
    return members.flatMap((list) => list.filter((_, i) => i % 2 === 1).map(Number));
  };
  const nowMs = async () => {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  };
  const held = async () => {
    const [lostAtMs, now] = [await scores(), await nowMs()];
    return lostAtMs.filter((atMs) => atMs > now).length;
  };
  return {
    held,
    lostAtMs: scores,
    nowMs,
    async free() {
      await expect.poll(held, PATIENCE).toBe(0);
    },
    async clockReaches(atMs) {
      await expect.poll(nowMs, PATIENCE).toBeGreaterThanOrEqual(atMs);
    },
  };
}

/** A concurrency limit with a timeout that no test waits for. */
export function atATime(limit: number, timeout = "1h") {
  return { algorithm: "concurrency", limit, timeout };
}
