// The Redis that all tests share, over the Redis protocol.

import { Redis } from "ioredis";
import { inject, onTestFinished } from "vitest";

/** A connection for the running test. */
export function sharedRedis(): Redis {
  const redis = new Redis(inject("redisUrl"), { disableClientInfo: true });
  onTestFinished(() => redis.disconnect());
  return redis;
}
