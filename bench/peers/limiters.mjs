/**
 * Each limiter as a program would use it, behind one interface, for the traces of the part `truth`. This file runs in a
 * worker thread. There `Date.now` is the clock of one isolate, and may be skewed.
 *
 * make({ url, token, redisUrl }, limits) → { take, charged }
 * take(key, cost) → { allowed, retryAfterMs? }
 * charged(redis, key) → the units that the store counts under each limit
 */

import { Ratelimit } from "@upstash/ratelimit";
import { Redis as Upstash } from "@upstash/redis";
import { RedisStore } from "hono-rate-limiter";
import { Redis } from "ioredis";
import { RateLimiterRedis } from "rate-limiter-flexible";
import { leases } from "../../src/features/leases/index.ts";
import { redisStore } from "../../src/index.ts";
import { createLimiter } from "../../src/limiter.ts";
import { HASH_BUCKETS, INCR_EXPIRE, SORTED_SET_LOG } from "./scripts.mjs";

const background = { waitUntil: (work) => void work.catch(() => {}) };

const headgate =
  (fields, consistency = "strict") =>
  ({ url, token }, limits) => {
    const limiter = createLimiter({
      features: [leases()],
      policies: [
        {
          name: "p",
          consistency,
          limits: limits.map(({ limit, windowMs }) => ({ limit, window: `${windowMs}ms`, ...fields })),
        },
      ],
      store: redisStore({ url, token, timeoutMs: 2_000 }),
      keySecret: "0123456789abcdef",
    });
    return {
      async take(key, cost) {
        const { allowed, retryAfterMs } = await limiter.take("p", { key, cost, background });
        return { allowed, retryAfterMs };
      },
      async charged(_, key) {
        const { limits: told } = await limiter.peek("p", { key, cost: 0 });
        return told.map(({ remaining }, i) => limits[i].limit - remaining);
      },
    };
  };

/** Asks the limiters one after another, up to the first that refuses. This order charges the fewest units. */
async function inTurn(limiters, one) {
  for (const limiter of limiters) {
    const answer = await one(limiter);
    if (!answer.allowed) return answer;
  }
  return { allowed: true };
}

const upstash =
  (algorithm, cache) =>
  ({ url, token }, limits) => {
    const redis = new Upstash({ url, token, enableTelemetry: false });
    const limiters = limits.map(({ limit, windowMs }, i) => {
      const window = `${windowMs} ms`;
      const limiter =
        algorithm === "tokenBucket" ? Ratelimit.tokenBucket(limit, window, limit) : Ratelimit[algorithm](limit, window);
      return new Ratelimit({ redis, prefix: `up${i}`, limiter, ephemeralCache: cache ? new Map() : false });
    });
    return {
      take: (key, cost) =>
        inTurn(limiters, async (limiter) => {
          const { success, reset, pending } = await limiter.limit(key, { rate: cost });
          pending?.catch(() => {});
          return { allowed: success, retryAfterMs: Math.max(0, reset - Date.now()) };
        }),
      async charged(redis, key) {
        return await Promise.all(limiters.map((_, i) => sumOf(redis, `up${i}:${key}:*`)));
      },
    };
  };

async function sumOf(redis, pattern) {
  const keys = await redis.keys(pattern);
  const values = keys.length > 0 ? await redis.mget(keys) : [];
  return values.reduce((sum, value) => sum + Number(value), 0);
}

const hono = ({ url, token }, limits) => {
  const client = new Upstash({ url, token, enableTelemetry: false });
  const stores = limits.map(({ windowMs }, i) => {
    const store = new RedisStore({ client, prefix: `hono${i}:` });
    store.init({ windowMs });
    return { store, limit: limits[i].limit };
  });
  return {
    // It has no costs: a cost of n is n requests.
    take: (key, cost) =>
      inTurn(stores, async ({ store, limit }) => {
        let last;
        for (let i = 0; i < cost; i++) last = await store.increment(key);
        return { allowed: last.totalHits <= limit, retryAfterMs: Math.max(0, last.resetTime.getTime() - Date.now()) };
      }),
    charged: async (redis, key) => await Promise.all(stores.map((_, i) => sumOf(redis, `hono${i}:${key}`))),
  };
};

const flexible =
  (inMemoryBlock) =>
  ({ redisUrl }, limits) => {
    const storeClient = new Redis(redisUrl, { enableOfflineQueue: true });
    storeClient.on("error", () => {});
    const limiters = limits.map(({ limit, windowMs }, i) => {
      const block = inMemoryBlock ? { inMemoryBlockOnConsumed: limit } : {};
      return new RateLimiterRedis({
        storeClient,
        points: limit,
        duration: windowMs / 1000,
        keyPrefix: `flex${i}`,
        ...block,
      });
    });
    return {
      take: (key, cost) =>
        inTurn(limiters, async (limiter) => {
          try {
            await limiter.consume(key, cost);
            return { allowed: true };
          } catch (refused) {
            if (refused instanceof Error) throw refused;
            return { allowed: false, retryAfterMs: refused.msBeforeNext };
          }
        }),
      charged: async (redis, key) => await Promise.all(limiters.map((_, i) => sumOf(redis, `flex${i}:${key}`))),
    };
  };

/** Cloudflare's binding in a Worker at `url`. It has no costs: a cost of n is n requests. It tells no wait. */
const binding = ({ url }) => ({
  async take(key, cost) {
    let allowed = true;
    for (let i = 0; i < cost; i++) {
      const answer = await fetch(url, { headers: { "CF-Connecting-IP": key } });
      await answer.text();
      allowed = answer.status === 200;
    }
    return { allowed };
  },
});

let requests = 0;
const plain =
  (name, text, size) =>
  ({ url, token }, limits) => {
    const script = new Upstash({ url, token, enableTelemetry: false }).createScript(text);
    const own = Math.random().toString(36).slice(2);
    return {
      take: (key, cost) =>
        inTurn([...limits.keys()], async (i) => {
          const args = [limits[i].limit, limits[i].windowMs, cost, Date.now(), `${own}${requests++}`];
          const [allowed, retryAfterMs] = await script.exec([`${name}${i}:${key}`], args);
          return { allowed: allowed === 1, retryAfterMs };
        }),
      charged: async (redis, key) => await Promise.all(limits.map((_, i) => size(redis, `${name}${i}:${key}`))),
    };
  };

/** The limiters by the name that `--peer` takes. */
export const LIMITERS = {
  "headgate sliding-window": headgate({}),
  "headgate leased": headgate({}, "leased"),
  "headgate 10 buckets, whole": headgate({ buckets: 10, oldest: "whole" }),
  "headgate sliding-log": headgate({ algorithm: "sliding-log" }),
  "headgate fixed-window": headgate({ algorithm: "fixed-window" }),
  "upstash slidingWindow, cache": upstash("slidingWindow", true),
  "upstash slidingWindow, no cache": upstash("slidingWindow", false),
  "upstash fixedWindow, cache": upstash("fixedWindow", true),
  "upstash cachedFixedWindow": upstash("cachedFixedWindow", true),
  "hono-rate-limiter": hono,
  "rate-limiter-flexible": flexible(false),
  "rate-limiter-flexible, block": flexible(true),
  "rate limit binding": binding,
  "INCR + EXPIRE": plain("incr", INCR_EXPIRE, sumOf),
  "sorted-set log": plain("zset", SORTED_SET_LOG, (redis, key) => redis.zcard(key)),
  "hash of sub-buckets": plain("hash", HASH_BUCKETS, async (redis, key) =>
    (await redis.hvals(key)).reduce((a, b) => a + Number(b), 0),
  ),
};
