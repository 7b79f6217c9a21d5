// The Redis that all tests share, over its own protocol.

import { Redis } from "ioredis";
import { inject, onTestFinished } from "vitest";

/** A connection for the test that runs. */
export function sharedRedis(): Redis {
  const redis = new Redis(inject("redisUrl"), { disableClientInfo: true });
  onTestFinished(() => redis.disconnect());
  return redis;
}
