// Eight writers use up a daily quota at the same time, over HTTP, with costs of 100 and 1.

import { randomUUID } from "node:crypto";
import { afterAll, expect, inject, it } from "vitest";
import { Kind } from "../../src/core/algorithm.ts";
import type { LimitSpec } from "../../src/core/algorithms.ts";
import { Flag, keysOfRequest, type TakeRequest } from "../../src/core/take.ts";
import { redisPlace } from "../../src/store/redis.ts";
import { keyRequest } from "../support/gateway/counter.ts";

const QUOTA = 9_500;
const WRITERS = 8;
const DAY_MS = 86_400_000;
/** The same instant for all writers, so that no midnight renews the quota. */
const NOW_MS = 1_700_000_000_000;

const open = () => redisPlace({ url: inject("restUrl"), token: inject("restToken"), timeoutMs: 30_000 });
const used: string[] = [];
afterAll(() => open().reset(used));

it.each<[string, LimitSpec]>([
  ["sliding-window", { kind: Kind.weighted, limit: QUOTA, bucketMs: DAY_MS, buckets: 1 }],
  ["sliding-window by the hour", { kind: Kind.whole, limit: QUOTA, bucketMs: DAY_MS / 24, buckets: 24 }],
  ["fixed-window", { kind: Kind.fixedWindow, limit: QUOTA, windowMs: DAY_MS }],
  ["sliding-log", { kind: Kind.log, limit: QUOTA, windowMs: DAY_MS }],
  ["token-bucket", { kind: Kind.bucket, limit: QUOTA, windowMs: DAY_MS, burst: QUOTA, maxDelayMs: 0 }],
])("%s: the sum admitted is never above 9,500, and the last unit is usable", async (_what, limit) => {
  const key = `headgate-test:{${randomUUID()}}`;
  const requestOf = (cost: number): TakeRequest => ({ keys: [keyRequest(key, [limit], { cost })], flag: Flag.take });
  used.push(...keysOfRequest(requestOf(1)));
  let sum = 0;

  /** Asks for 100 and 1 in turn. After 100 is refused, asks for 1 until that is refused too. */
  async function write(writer: number): Promise<void> {
    const store = open();
    let hundreds = true;
    for (let n = writer; ; n++) {
      const cost = hundreds && n % 2 === 0 ? 100 : 1;
      const { allowed } = await store.take(requestOf(cost), NOW_MS);
      if (allowed) sum += cost;
      expect(sum).toBeLessThanOrEqual(QUOTA);
      if (!allowed && cost === 1) return;
      if (!allowed) hundreds = false;
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));

  expect(sum).toBe(QUOTA);
});
