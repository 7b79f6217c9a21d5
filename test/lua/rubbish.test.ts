// Another program wrote into a key of headgate's. Counting starts at zero, and the next charge replaces the value.
// Parity damages values in many more ways (support/parity/parity-damage.ts), also beside whole records, under every
// flag, and in limit keys.

import { randomBytes, randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { Flag, keysOfRequest } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { encodeRecords, encodeRow, encodeValue, idOf } from "../support/redis/records-codec.ts";
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

async function expectReplaced(key: string): Promise<void> {
  const charged = { ...limit, newest: NOW_MS / 1000, counts: [2, 0] };
  expect(await take(key, 0)).toEqual([NOW_MS, id, NOW_MS / 1000, 0, 0]);
  expect(await take(key, 2)).toEqual([NOW_MS, id, NOW_MS / 1000, 2, 0]);
  expect(await redis.getBuffer(key)).toEqual(encodeRecords([charged]));
  expect(await redis.pttl(key)).toBeGreaterThan(0);
}

it.each<[what: string, bytes: Buffer]>([
  ["no bytes", Buffer.alloc(0)],
  ["text", Buffer.from("hello")],
  ["random bytes", randomBytes(64)],
  ["half of a value", encodeRecords([{ ...limit, newest: 1, counts: [5, 0] }]).subarray(0, 6)],
  ["the head of a huge list", Buffer.from("ddffffffff", "hex")],
  ["a million zeros", Buffer.alloc(1_000_000)],
  ["a list of records", encodeValue([[...record, 5, 0]])],
  ["a record with too many counts", encodeRow([...record, 5, 0, 0])],
  ["a record with text", encodeRow([...record, "5", "0"])],
  ["a record with nil", encodeRow([...record, null, 0])],
  ["a record with a fraction at its end", encodeRow([...record, 1, 0.5])],
  ["a record with less than nothing", encodeRow([...record, 0, -5])],
  ["a record with infinity", encodeRow([...record, 0, Number.POSITIVE_INFINITY])],
  ["a record of a bucket that never comes", encodeRow([id, 2 ** 50, 0, 0])],
  ["the ended record of another limit", encodeRow([id + 1, NOW_MS / 1000 - 2, 5, 0])],
  ["a record of another limit that never ends", encodeRow([id + 1, 2 ** 40, 5, 0])],
  ["a record of an algorithm that nobody knows", encodeRow([id + 30, NOW_MS / 1000, 5, 0])],
])("survives %s", async (_what, bytes) => {
  const key = newKey();
  await redis.set(key, bytes);
  await expectReplaced(key);
});

it("survives a key of another type", async () => {
  const key = newKey();
  await redis.hset(key, "a", "b");
  await expectReplaced(key);
});

it.each([-5, 0.5, 2 ** 53, "0", null])(
  "starts anew even if the damaged count, %j, is in a bucket that is about to leave",
  async (bad) => {
    const key = newKey();
    await redis.set(key, encodeRow([id, NOW_MS / 1000 - 1, 4, bad]));
    expect(await take(key, 0)).toEqual([NOW_MS, id, NOW_MS / 1000, 0, 0]);
  },
);

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

it.each<LimitSpec>([
  { kind: Kind.log, limit: 5, windowMs: 60_000 },
  { kind: Kind.concurrency, limit: 2, timeoutMs: 60_000 },
])("counts a limit key of another type as nothing, and replaces it: kind $kind", async (own) => {
  const request = { keys: [keyRequest(newKey(), [own])], flag: Flag.take, slot: 1 };
  const [key, limitKey] = keysOfRequest(request) as [string, string];
  used.push(limitKey);
  const ask = async (flag: Flag) => {
    const args = argsOf({ ...request, flag }, NOW_MS).map(String);
    return ((await redis.eval(TAKE.text, 2, key, limitKey, ...args)) as number[])[2];
  };
  expect(await ask(Flag.take)).toBe(1);
  await redis.del(limitKey);
  await redis.hset(limitKey, "a", "b");
  expect([await ask(Flag.look), await ask(Flag.take)]).toEqual([0, 1]);
  expect(await redis.type(limitKey)).toBe(own.kind === Kind.log ? "list" : "zset");
});
