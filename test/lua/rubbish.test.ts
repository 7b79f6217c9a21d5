// Another program wrote into a key of headgate's. Counting starts at zero, and the next charge replaces the value.

import { randomBytes, randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { Flag } from "../../src/kernel/core/take.ts";
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

function take(key: string, cost: number, flag: Flag = Flag.take) {
  const atMs = flag === Flag.giveBack ? NOW_MS : 0;
  const args = argsOf({ keys: [keyRequest(key, [limit], { cost })], flag, atMs }, NOW_MS);
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
  ["JSON", Buffer.from("[512009,1700000000,5,0]")],
  ["random bytes", randomBytes(64)],
  ["bytes that msgpack never uses", Buffer.from("c1c1c1", "hex")],
  ["half of a value", encodeRecords([{ ...limit, newest: 1, counts: [5, 0] }]).subarray(0, 6)],
  ["the head of a huge list", Buffer.from("ddffffffff", "hex")],
  ["a number", encodeValue(7)],
  ["nil", encodeValue(null)],
  ["a map", encodeValue({ a: 1 })],
  ["a list of numbers", encodeValue([...record, 5, 0])],
  ["a list of records", encodeValue([[...record, 5, 0]])],
  ["a record and the beginning of another", encodeRow([...record, 5, 0, ...record])],
  ["a record and what is none", encodeRow([...record, 5, 0, "x"])],
  ["a record and false", encodeRow([...record, 5, 0, false])],
  ["a million zeros", Buffer.alloc(1_000_000)],
  ["a list of maps", encodeValue([{ 1: 1, 2: 1000 }])],
  ["a record without counts", encodeRow(record)],
  ["a record with too few counts", encodeRow([...record, 5])],
  ["a record with too many counts", encodeRow([...record, 5, 0, 0])],
  ["a record with text", encodeRow([...record, "5", "0"])],
  ["a record with a list", encodeRow([...record, [5], 0])],
  ["a record with nil", encodeRow([...record, null, 0])],
  ["a record with a fraction", encodeRow([...record, 0.5, 0])],
  ["a record with a fraction above 1", encodeRow([...record, 1.5, 0])],
  ["a record with a fraction at its end", encodeRow([...record, 1, 0.5])],
  ["a record with less than nothing", encodeRow([...record, 0, -5])],
  ["a charged record with less than nothing", encodeRow([...record, 1, -5])],
  ["a charged record with more than can be counted", encodeRow([...record, 1, 2 ** 53])],
  ["a charged record with more than can be counted in its bucket", encodeRow([...record, 2 ** 53, 0])],
  ["a charged record of a bucket that is text", encodeRow([id, String(NOW_MS / 1000), 1, 0])],
  ["the ended record of another limit", encodeRow([id + 1, NOW_MS / 1000 - 2, 5, 0])],
  ["a record of another limit that never ends", encodeRow([id + 1, 2 ** 40, 5, 0])],
  ["a record of another limit with a fraction", encodeRow([id + 1, NOW_MS / 1000, 0.5, 0])],
  ["a record of an algorithm that nobody knows", encodeRow([id + 30, NOW_MS / 1000, 5, 0])],
  ["a record with more than can be counted", encodeRow([...record, 0, 2 ** 53])],
  ["a record with infinity", encodeRow([...record, 0, Number.POSITIVE_INFINITY])],
  ["a record with no number", encodeRow([...record, Number.NaN, 0])],
  ["a record of a bucket that never comes", encodeRow([id, 2 ** 50, 0, 0])],
])("survives %s", async (_what, bytes) => {
  const key = newKey();
  await redis.set(key, bytes);
  await expectReplaced(key);
});

it("keeps the record of another limit that lasts", async () => {
  const [key, other] = [newKey(), [id + 1, NOW_MS / 1000, 5, 0]];
  await redis.set(key, encodeRow(other));
  expect(await take(key, 2)).toEqual([NOW_MS, id, NOW_MS / 1000, 2, 0]);
  expect(await redis.getBuffer(key)).toEqual(encodeRow([...record, 2, 0, ...other]));
});

it.each([-5, 0.5, 2 ** 53, "0", null])(
  "starts anew even if the damaged count, %j, is in a bucket that is about to leave",
  async (bad) => {
    const key = newKey();
    await redis.set(key, encodeRow([id, NOW_MS / 1000 - 1, 4, bad]));
    expect(await take(key, 0)).toEqual([NOW_MS, id, NOW_MS / 1000, 0, 0]);
  },
);

it.each<[behind: unknown[], count: number]>([
  [[false], 1],
  [[null, 7], 2],
  [[null, 7, null], 2],
])("answers for every key even if the first key's record is followed by %j", async (behind, count) => {
  const [one, two] = [newKey(), newKey()];
  await redis.set(one, encodeRow([...record, 1, 0, ...behind]));
  const request = { keys: [keyRequest(one, [limit]), keyRequest(two, [limit])], flag: Flag.take };
  const reply = await redis.eval(TAKE.text, 2, one, two, ...argsOf(request, NOW_MS).map(String));
  const ofNew = [id, NOW_MS / 1000, 1, 0];
  expect(reply).toEqual([NOW_MS, id, NOW_MS / 1000, count, 0, ...ofNew]);
});

it("survives keys of another type", async () => {
  const [list, hash] = [newKey(), newKey()];
  await redis.rpush(list, "a", "b");
  await redis.hset(hash, "a", "b");
  await expectReplaced(list);
  await expectReplaced(hash);
});

it("replaces it too when charging anyway, and gives nothing back to it", async () => {
  const [charged, given] = [newKey(), newKey()];
  await redis.set(charged, "hello");
  await redis.set(given, "hello");
  expect(await take(charged, 9, Flag.chargeAnyway)).toEqual([NOW_MS, -id, NOW_MS / 1000, 9, 0]);
  expect(await take(given, 9, Flag.giveBack)).toEqual([NOW_MS, id, NOW_MS / 1000, 0, 0]);
  for (const key of [charged, given]) expect(await redis.pttl(key)).toBeGreaterThan(0);
});

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
  const args = argsOf({ keys: [keyRequest(key, [bucket], { cost: 2 })], flag: Flag.take }, NOW_MS).map(String);
  expect(await redis.eval(TAKE.text, 1, key, ...args)).toEqual([NOW_MS, idOf(bucket), NOW_MS, 2000]);
  expect(await redis.getBuffer(key)).toEqual(encodeRow([...bucketRecord, 2000]));
});

it("does not read values after nil", async () => {
  const key = newKey();
  await redis.set(key, encodeRow([...record, 3, 0, null, 7]));
  const newest = NOW_MS / 1000;
  expect(await take(key, 0)).toEqual([NOW_MS, id, newest, 3, 0]);
  expect(await take(key, 2)).toEqual([NOW_MS, id, newest, 5, 0]);
  expect(await redis.getBuffer(key)).toEqual(encodeRow([...record, 5, 0]));
});

it("keeps the record beside a damaged one", async () => {
  const key = newKey();
  const sane = [id + 1, NOW_MS / 1000, 3, 0];
  await redis.set(key, encodeRow([...record, "x", 0, ...sane]));
  const limits = [limit, { ...limit, kind: Kind.whole }];
  const args = argsOf({ keys: [keyRequest(key, limits)], flag: Flag.take }, NOW_MS).map(String);
  const newest = NOW_MS / 1000;
  expect(await redis.eval(TAKE.text, 1, key, ...args)).toEqual([NOW_MS, id, newest, 1, 0, id + 1, newest, 4, 0]);
});
