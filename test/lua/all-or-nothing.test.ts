// Seven algorithms in one call, on Redis. Whichever refuses, nothing is charged anywhere: DUMP shows the same bytes.

import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { Flag, keysOfRequest, type TakeRequest } from "../../src/kernel/core/take.ts";
import { redisPlace } from "../../src/kernel/store/redis.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { sharedRedis } from "../support/redis/shared-redis.ts";

const NOW_MS = 1_700_000_000_000;
const MANY = 1_000;
const windowMs = 60_000;

const limits = {
  "sliding-window": { kind: Kind.weighted, limit: MANY, bucketMs: windowMs, buckets: 1 },
  "fixed-window": { kind: Kind.fixedWindow, limit: MANY, windowMs },
  "sliding-log": { kind: Kind.log, limit: MANY, windowMs },
  "token-bucket": { kind: Kind.bucket, limit: MANY, windowMs, burst: MANY, maxDelayMs: 0 },
  "leaky-bucket": { kind: Kind.bucket, limit: MANY, windowMs: 2 * windowMs, burst: MANY, maxDelayMs: 1 },
  concurrency: { kind: Kind.concurrency, limit: MANY, timeoutMs: windowMs },
  calendar: { kind: Kind.calendar, limit: MANY, window: "day", zone: "Asia/Kathmandu", firstDay: 1 },
} satisfies Record<string, LimitSpec>;
const names = Object.keys(limits) as (keyof typeof limits)[];

/** The limit with a number that admits one request of 3 units, but not two. */
function tightened(limit: LimitSpec): LimitSpec {
  if (limit.kind === Kind.concurrency) return { ...limit, limit: 1 };
  if (limit.kind === Kind.bucket) return { ...limit, limit: 1, burst: 5 };
  return { ...limit, limit: 5 };
}

/** One key with all limits, and one key for each limit. `refuser` is tightened: in the shared key or in its own key. */
function requestOf(prefix: string, slot: number, refuser?: string, where?: "shared" | "own"): TakeRequest {
  const limitOf = (name: keyof typeof limits, here: "shared" | "own") =>
    name === refuser && here === where ? tightened(limits[name]) : limits[name];
  const shared = keyRequest(
    `${prefix}:shared`,
    names.map((name) => limitOf(name, "shared")),
    { cost: 3 },
  );
  const own = names.map((name) => keyRequest(`${prefix}:${name}`, [limitOf(name, "own")], { cost: 3 }));
  return { keys: [shared, ...own], flag: Flag.take, slot };
}

describe.each(["shared", "own"] as const)("in the %s key", (where) => {
  it.each(names)("a refusal by %s charges nothing anywhere", async (refuser) => {
    const redis = sharedRedis();
    const store = redisPlace({ url: inject("restUrl"), token: inject("restToken"), timeoutMs: 30_000 });
    const prefix = `headgate-test:{${randomUUID()}}`;
    const keys = keysOfRequest(requestOf(prefix, 1));
    const dump = () => Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    try {
      expect((await store.take(requestOf(prefix, 1), NOW_MS)).allowed).toBe(true);
      const before = await dump();
      // The key with only a concurrency limit has no records.
      expect(before.filter((bytes) => bytes === null)).toHaveLength(1);

      const reply = await store.take(requestOf(prefix, 2, refuser, where), NOW_MS + 1);
      expect(reply.allowed).toBe(false);
      expect(reply.keys.flat().filter(({ refused }) => refused)).toHaveLength(1);
      expect(await dump()).toEqual(before);

      expect((await store.take(requestOf(prefix, 3), NOW_MS + 2)).allowed).toBe(true);
      expect(await dump()).not.toEqual(before);
    } finally {
      await redis.unlink(keys);
    }
  });
});
