// The Redis that all tests share, over the Redis protocol.

import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { inject, onTestFinished } from "vitest";

/** A connection for the running test. */
export function sharedRedis(): Redis {
  const redis = new Redis(inject("redisUrl"), { disableClientInfo: true });
  onTestFinished(() => redis.disconnect());
  return redis;
}

/** A connection for the running test, and a key of it alone. */
export function redisWithKey(): { readonly redis: Redis; readonly key: string } {
  const redis = sharedRedis();
  const key = `headgate-test:{${randomUUID()}}`;
  onTestFinished(async () => void (await redis.unlink(key)));
  return { redis, key };
}
