// Expiries by the server's own clock, which parity does not use. A charge that would not move the expiry leaves it
// alone, because that is cheaper. Every other charge sets it.

import { beforeEach, expect, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { encodeRow, idOf } from "../support/redis/records-codec.ts";
import { argsOf } from "../support/redis/script-call.ts";
import { redisWithKey } from "../support/redis/shared-redis.ts";

/** So long that a bucket ends during a test only once in three weeks. */
const BUCKET_MS = 2_000_000_000;
/** An expiry that the test set. It is still there only if the script left it alone. */
const SHORT_MS = 60_000;
/** The script's clock and the clock of PTTL differ by the time that a test takes, at most this. */
const SLACK_MS = 30_000;

const windowOf = (buckets = 1, bucketMs = BUCKET_MS) => ({ limit: 9, kind: Kind.weighted, bucketMs, buckets });
const fixed = { limit: 9, kind: Kind.fixedWindow, windowMs: BUCKET_MS } as const;

let { redis, key } = {} as ReturnType<typeof redisWithKey>;
beforeEach(() => {
  ({ redis, key } = redisWithKey());
});

async function take(limits: LimitSpec[], cost = 1, flag: Flag = Flag.take, group = 0): Promise<number[]> {
  const atMs = flag === Flag.giveBack ? Date.now() : 0;
  const args = argsOf({ keys: [keyRequest(key, limits, { cost, group })], flag, atMs }, 0).map(String);
  return (await redis.eval(TAKE.text, 1, key, ...args)) as number[];
}

/** @param spans the number of buckets after `newest` at which the key expires. */
async function expectExpiry(newest: number, spans: number, bucketMs = BUCKET_MS): Promise<void> {
  await expectExpiryAt((newest + spans) * bucketMs);
}

async function expectExpiryAt(atMs: number): Promise<void> {
  const expectedMs = atMs - Date.now();
  const leftMs = await redis.pttl(key);
  expect(leftMs).toBeGreaterThan(expectedMs - SLACK_MS);
  expect(leftMs).toBeLessThan(expectedMs + SLACK_MS);
}

it.each<[string, LimitSpec, number]>([
  ["a window of 1 bucket", windowOf(), 2],
  ["a window of 3 buckets", windowOf(3), 4],
  ["a fixed window", fixed, 1],
])("sets it with the first charge in a bucket, and leaves it alone after that: %s", async (_what, limit, spans) => {
  const first = await take([limit]);
  await expectExpiry(first[2]!, spans);
  await take([limit]);
  await expectExpiry(first[2]!, spans);
  await redis.pexpire(key, SHORT_MS);
  expect((await take([limit]))[3]).toBe(3);
  expect(await redis.pttl(key)).toBeLessThanOrEqual(SHORT_MS);
  expect(await redis.pttl(key)).toBeGreaterThan(0);
});

it("sets it with the first charge in a period of a calendar, to its end, and leaves it alone after that", async () => {
  // A year that ends during a test is no more likely than a bucket that does.
  const year = { kind: Kind.calendar, limit: 9, window: "year", zone: "UTC", firstDay: 1 } as const;
  const [, , endsAtMs] = await take([year]);
  await expectExpiryAt(endsAtMs!);
  await redis.pexpire(key, SHORT_MS);
  expect((await take([year, windowOf()]))[3]).toBe(2);
  await expectExpiryAt(Math.max(endsAtMs!, (Math.floor(Date.now() / BUCKET_MS) + 2) * BUCKET_MS));
  await redis.pexpire(key, SHORT_MS);
  expect((await take([year, windowOf()]))[3]).toBe(3);
  expect(await redis.pttl(key)).toBeLessThanOrEqual(SHORT_MS);
  expect(await redis.pttl(key)).toBeGreaterThan(0);
});

it("sets it to the end of a calendar's period when its units were given back", async () => {
  const year = { kind: Kind.calendar, limit: 9, window: "year", zone: "UTC", firstDay: 1 } as const;
  const [, , endsAtMs] = await take([year]);
  await redis.set(key, encodeRow([idOf(year), endsAtMs!, 0]), "PX", SHORT_MS);
  await take([year]);
  await expectExpiryAt(endsAtMs!);
});

it("sets it with every charge of a token bucket, to when it is full again, and leaves it alone when that refuses", async () => {
  const bucket = { kind: Kind.bucket, limit: 9, windowMs: BUCKET_MS, burst: 9, maxDelayMs: 0 } as const;
  for (const charged of [3, 6, 9]) {
    await take([bucket], 3);
    const leftMs = await redis.pttl(key);
    expect(leftMs).toBeGreaterThan((charged / 9) * BUCKET_MS - SLACK_MS);
    expect(leftMs).toBeLessThanOrEqual((charged / 9) * BUCKET_MS + 1);
  }
  await redis.pexpire(key, SHORT_MS);
  expect((await take([bucket]))[1]).toBe(-idOf(bucket));
  expect(await redis.pttl(key)).toBeLessThanOrEqual(SHORT_MS);
});

it.each<[string, row: (newest: number) => number[], counts: [number, number], spans: number]>([
  ["the bucket is another than the last one charged", (newest) => [newest - 1, 3, 0], [1, 3], 2],
  ["what was charged in this bucket has been given back", (newest) => [newest, 0, 3], [1, 3], 2],
  [
    "another configuration's record lasts longer",
    (newest) => [newest, 3, 0, idOf(windowOf(2)), newest, 3, 0, 0],
    [4, 0],
    3,
  ],
])("sets it when %s", async (_what, row, counts, spans) => {
  const newest = Math.floor(Date.now() / BUCKET_MS);
  await redis.set(key, encodeRow([idOf(windowOf()), ...row(newest)]), "PX", SHORT_MS);
  expect((await take([windowOf()])).slice(2)).toEqual([newest, ...counts]);
  await expectExpiry(newest, spans);
});

it("sets it to the latest when only one of several limits moves it", async () => {
  const longer = windowOf(1, BUCKET_MS + 1_000_000);
  const ofLonger = Math.floor(Date.now() / longer.bucketMs);
  const newest = Math.floor(Date.now() / BUCKET_MS);
  const row = [idOf(longer), ofLonger, 1, 0, idOf(windowOf()), newest - 1, 3, 0];
  await redis.set(key, encodeRow(row), "PX", SHORT_MS);
  await take([longer, windowOf()]);
  const latestMs = Math.max((ofLonger + 2) * longer.bucketMs, (newest + 2) * BUCKET_MS);
  await expectExpiry(latestMs / BUCKET_MS, 0);
});

it.each([Flag.chargeAnyway, Flag.giveBack])("sets it under flag %i", async (flag) => {
  const [, , newest] = await take([windowOf()], 3);
  await redis.pexpire(key, SHORT_MS);
  await take([windowOf()], 1, flag);
  await expectExpiry(newest!, 2);
});

it("leaves it alone when it refuses or looks", async () => {
  await take([windowOf()], 9);
  await redis.pexpire(key, SHORT_MS);
  expect((await take([windowOf()]))[1]).toBe(-idOf(windowOf()));
  await take([windowOf()], 0);
  expect(await redis.pttl(key)).toBeLessThanOrEqual(SHORT_MS);
});
