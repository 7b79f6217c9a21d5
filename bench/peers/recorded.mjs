/**
 * What each peer sends to Redis for one decision. The peer's own code runs with a client that records calls and sends
 * nothing. Each export takes `limits` and returns (key, cost) → the calls of one decision, in order, as { text, keys,
 * args }.
 */

import { Ratelimit } from "@upstash/ratelimit";
import { RedisStore } from "hono-rate-limiter";
import { RateLimiterRedis } from "rate-limiter-flexible";
import { HASH_BUCKETS, INCR_EXPIRE, SORTED_SET_LOG } from "./scripts.mjs";

/** Redis 7.0 refuses the flag. */
const withoutFlag = (text) => text.replace(/^#!lua flags=allow-key-locking\n/, "");

export function upstash(limits, algorithm) {
  const calls = [];
  const redis = {
    evalsha: async () => {
      throw new Error("NOSCRIPT");
    },
    eval: async (text, keys, args) => {
      calls.push({ text: withoutFlag(text), keys, args });
      return [1, limits[0].limit, limits[0].limit];
    },
  };
  const limiters = limits.map(({ limit, windowMs }, i) => {
    const window = `${windowMs} ms`;
    const limiter =
      algorithm === "tokenBucket" ? Ratelimit.tokenBucket(limit, window, limit) : Ratelimit[algorithm](limit, window);
    return new Ratelimit({ redis, limiter, prefix: `rl${i}`, ephemeralCache: false, timeout: 0 });
  });
  return async (key, cost) => {
    calls.length = 0;
    for (const limiter of limiters) await limiter.limit(key, { rate: cost });
    return [...calls];
  };
}

export function honoRateLimiter(limits) {
  const calls = [];
  const stores = limits.map(({ windowMs }, i) => {
    const texts = [];
    const client = {
      scriptLoad: async (text) => String(texts.push(text) - 1),
      evalsha: async (sha, keys, args) => {
        calls.push({ text: texts[Number(sha)], keys, args });
        return [1, windowMs];
      },
    };
    const store = new RedisStore({ client, prefix: `hrl${i}:` });
    store.init({ windowMs });
    return store;
  });
  return async (key) => {
    calls.length = 0;
    for (const store of stores) await store.increment(key);
    return [...calls];
  };
}

export function rateLimiterFlexible(limits) {
  const calls = [];
  const limiters = limits.map(({ limit, windowMs }, i) => {
    let text;
    const storeClient = {
      status: "ready",
      defineCommand: (_, { lua }) => {
        text = lua;
      },
      rlflxIncr: async ([key, ...args]) => {
        calls.push({ text, keys: [key], args });
        return [1, windowMs];
      },
    };
    return new RateLimiterRedis({ storeClient, points: limit, duration: windowMs / 1000, keyPrefix: `rlflx${i}` });
  });
  return async (key, cost) => {
    calls.length = 0;
    for (const limiter of limiters) await limiter.consume(key, cost);
    return [...calls];
  };
}

const plain = (name, text, argsOf) => (limits) => async (key, cost) =>
  limits.map((limit, i) => ({
    text,
    keys: [`${name}${i}:${key}`],
    args: [limit.limit, limit.windowMs, cost, ...argsOf()],
  }));

let request = 0;
export const incrExpire = plain("incr", INCR_EXPIRE, () => []);
export const sortedSetLog = plain("zset", SORTED_SET_LOG, () => [Date.now(), `r${request++}`]);
export const hashBuckets = plain("hash", HASH_BUCKETS, () => [Date.now()]);
