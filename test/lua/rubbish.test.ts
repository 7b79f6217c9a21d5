// Another program wrote into a key of headgate's. Counting starts at zero, and the next charge replaces the value.
// These are examples: parity damages the values of every algorithm in many more ways (support/parity/parity-damage.ts),
// also beside whole records, under every flag, and in limit keys.

import { randomBytes, randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { encodeRecords, encodeRow, idOf } from "../support/redis/records-codec.ts";
import { argsOf } from "../support/redis/script-call.ts";

const NOW_MS = 1_700_000_000_000;
const limit = { limit: 5, kind: Kind.weighted, bucketMs: 1000, buckets: 1 };
const id = idOf(limit);
const record = [id, NOW_MS / 1000];

let redis: Redis;
const used: string[] = [];
beforeAll(() => {
  redis = new Redis(inject("redisUrl"), { protocol: 2 });
});
afterAll(async () => {
  await redis.unlink(used);
  await redis.quit();
});

function newKey(): string {
  const key = `headgate-test:${randomUUID()}`;
  used.push(key);
  return key;
}

function take(key: string, cost: number, of: LimitSpec = limit) {
  const args = argsOf({ keys: [keyRequest(key, [of], { cost })], flag: Flag.take }, NOW_MS);
  return redis.eval(TAKE.text, 1, key, ...args.map(String));
}

it.each<[what: string, bytes: Buffer]>([
  ["no bytes", Buffer.alloc(0)],
  ["text", Buffer.from("hello")],
  ["random bytes", randomBytes(64)],
  ["the head of a huge list", Buffer.from("ddffffffff", "hex")],
  ["a million zeros", Buffer.alloc(1_000_000)],
  ["a record with infinity", encodeRow([...record, 0, Number.POSITIVE_INFINITY])],
  ["a record of a bucket that never comes", encodeRow([id, 2 ** 50, 0, 0])],
  ["a record of an algorithm that nobody knows", encodeRow([id + 30, NOW_MS / 1000, 5, 0])],
])("survives %s", async (_what, bytes) => {
  const key = newKey();
  await redis.set(key, bytes);
  expect(await take(key, 0)).toEqual([NOW_MS, id, NOW_MS / 1000, 0, 0]);
  expect(await take(key, 2)).toEqual([NOW_MS, id, NOW_MS / 1000, 2, 0]);
  expect(await redis.getBuffer(key)).toEqual(encodeRecords([{ ...limit, newest: NOW_MS / 1000, counts: [2, 0] }]));
  expect(await redis.pttl(key)).toBeGreaterThan(0);
});

it.each([-5, 0.5, 2 ** 53, "0", null])(
  "starts anew even if the damaged count, %j, is in a bucket that is about to leave",
  async (bad) => {
    const key = newKey();
    await redis.set(key, encodeRow([id, NOW_MS / 1000 - 1, 4, bad]));
    expect(await take(key, 0)).toEqual([NOW_MS, id, NOW_MS / 1000, 0, 0]);
  },
);

// The way of one bucket alone, which parity does not damage so.
const bucket = { kind: Kind.bucket, limit: 5, windowMs: 1000, burst: 5, maxDelayMs: 0 } as const;
const bucketRecord = [idOf(bucket), NOW_MS];

it.each<[what: string, row: unknown[]]>([
  ["text", ["hello"]],
  ["no debt", bucketRecord],
  ["a debt that is text", [...bucketRecord, "4000"]],
  ["a debt of nil", [...bucketRecord, null]],
  ["a debt with a fraction", [...bucketRecord, 0.5]],
  ["a debt below nothing", [...bucketRecord, -1000]],
  ["a debt that cannot be counted", [...bucketRecord, 2 ** 53]],
  ["an instant with a fraction", [idOf(bucket), NOW_MS - 0.5, 4000]],
  ["more than a record", [...bucketRecord, 4000, 0]],
  ["the record of another limit", [idOf(bucket) + 512, NOW_MS, 4000]],
])("fills a bucket that holds %s", async (_what, row) => {
  const key = newKey();
  await redis.set(key, encodeRow(row));
  expect(await take(key, 2, bucket)).toEqual([NOW_MS, idOf(bucket), NOW_MS, 2000]);
  expect(await redis.getBuffer(key)).toEqual(encodeRow([...bucketRecord, 2000]));
});
