// The slots of concurrency limits, looked at in Redis itself.

import { expect } from "vitest";
import { sharedRedis } from "./shared-redis.ts";

export interface Slots {
  /** How many the policies with this name in theirs hold now; those that were lost do not count. */
  held(): Promise<number>;
  /** Resolves when all are free. */
  free(): Promise<void>;
  /**
   * When the slots are lost unless they are renewed, ms since the epoch by Redis's clock; also those that were lost
   * since.
   */
  lostAtMs(): Promise<number[]>;
  /** By Redis's clock. */
  nowMs(): Promise<number>;
  /** Resolves when Redis's clock has reached this instant, ms since the epoch. */
  clockReaches(atMs: number): Promise<void>;
}

/** How long all of this may take: only a test that fails waits for it. */
const PATIENCE = { timeout: 30_000, interval: 10 };

/** For the test that runs. @param name as `uniqueName` made it. @param redis default the one that all tests share. */
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

/** A concurrency limit whose slots nobody gets back by waiting for their timeout. */
export function atATime(limit: number, timeout = "1h") {
  return { algorithm: "concurrency", limit, timeout };
}
