// One HTTP request. An admission takes 3 Redis commands plus one for each key, a refusal takes 3, for any number of
// windows. Logs and concurrency limits have limit keys, and each limit key adds the commands below.

import { beforeEach, expect, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { onceKeyOf } from "../../src/kernel/core/once.ts";
import { Flag, type KeyRequest, limitKeyOf } from "../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../src/kernel/core/window.ts";
import { redisPlace } from "../../src/kernel/store/redis.ts";
import type { Store } from "../../src/kernel/store/store.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { commandsOf } from "../support/redis/command-stats.ts";
import { type PrivateRedis, privateRedisOfFile } from "../support/redis/private-redis.ts";

const emptyRedis = privateRedisOfFile();
let server: PrivateRedis;
let store: Store;

beforeEach(async (context) => {
  server = await emptyRedis();
  context.skip(!server.isPrivate, "the statistics of a Redis that other tests use");
  store = redisPlace({ ...server.rest, timeoutMs: 30_000 });
  await store.take({ keys: [keyRequest("known", windows(1), { cost: 0 })], flag: Flag.take });
});

function windows(count: number, limit = 3): WindowLimit[] {
  return Array.from({ length: count }, (_, i) => ({ limit, kind: Kind.weighted, bucketMs: 3_600_000, buckets: i + 1 }));
}

async function costOf(keys: KeyRequest[], flag: Flag = Flag.take, atMs = 0, slot = 0) {
  server.calls.length = 0;
  const commands = await commandsOf(server.redis, () => store.take({ keys, flag, atMs, slot }));
  return { http: server.calls.length, ...commands };
}

/** The calls of a refusal, for one key and for several. */
const DENIED = { http: 1, evalsha: 1, time: 1, get: 1 };
const DENIED_OF_SEVERAL = { http: 1, evalsha: 1, time: 1, mget: 1 };

it.each([1, 3, 8])("is 4 commands for %i limits of one key when admitted, 3 when denied", async (count) => {
  const keys = [keyRequest("key", windows(count), { cost: 2 })];
  expect(await costOf(keys)).toEqual({ ...DENIED, set: 1 });
  expect(await costOf(keys)).toEqual(DENIED);
});

it.each([2, 3, 4])("is 3 + %i commands for that many keys when admitted, 3 when denied", async (count) => {
  const keys = Array.from({ length: count }, (_, k) => keyRequest(`key ${k}`, windows(2), { cost: 2 }));
  expect(await costOf(keys)).toEqual({ ...DENIED_OF_SEVERAL, set: count });
  expect(await costOf(keys)).toEqual(DENIED_OF_SEVERAL);
});

it.each([1, 3])("is 3 commands for a look at %i limits of one key, charged or not", async (count) => {
  const look = () => costOf([keyRequest("key", windows(count), { cost: 0 })]);
  expect(await look()).toEqual(DENIED);
  await costOf([keyRequest("key", windows(count))]);
  expect(await look()).toEqual(DENIED);
});

it("does not write what is in shadow and refuses", async () => {
  const keys = [keyRequest("enforced", windows(1)), keyRequest("shadow", windows(1, 1), { cost: 2, group: 1 })];
  expect(await costOf(keys)).toEqual({ ...DENIED_OF_SEVERAL, set: 1 });
});

it("is 4 commands to charge anyway and to give back, 3 to give back where nothing is", async () => {
  const key = [keyRequest("key", windows(2), { cost: 5 })];
  expect(await costOf(key, Flag.chargeAnyway)).toEqual({ ...DENIED, set: 1 });
  expect(await costOf(key, Flag.giveBack, Date.now())).toEqual({ ...DENIED, set: 1 });
  expect(await costOf([keyRequest("none", windows(2))], Flag.giveBack, Date.now())).toEqual(DENIED);
});

const HOUR_MS = 3_600_000;
const fixed: LimitSpec = { kind: Kind.fixedWindow, limit: 3, windowMs: HOUR_MS };
const token: LimitSpec = { kind: Kind.bucket, limit: 3, windowMs: HOUR_MS, burst: 3, maxDelayMs: 0 };
const leaky: LimitSpec = { ...token, windowMs: 2 * HOUR_MS, maxDelayMs: 1 };
const month: LimitSpec = { kind: Kind.calendar, limit: 3, window: "month", zone: "UTC", firstDay: 15 };
const log: LimitSpec = { kind: Kind.log, limit: 3, windowMs: HOUR_MS };
const atOnce: LimitSpec = { kind: Kind.concurrency, limit: 3, timeoutMs: HOUR_MS };

it.each<[string, LimitSpec[]]>([
  ["a fixed window", [fixed]],
  ["a calendar limit", [month]],
  ["a calendar limit beside windows, eight limits", [...windows(7), month]],
  ["a token bucket", [token]],
  ["a leaky bucket", [leaky]],
  ["all of them beside windows, eight limits", [fixed, month, token, leaky, ...windows(4)]],
])("is 4 commands for %s when admitted, 3 when denied", async (_what, limits) => {
  const keys = [keyRequest("key", limits, { cost: 2 })];
  expect(await costOf(keys)).toEqual({ ...DENIED, set: 1 });
  expect(await costOf(keys)).toEqual(DENIED);
});

it("is 3 more for a log when admitted, 2 for a new one, and 1 or 2 when denied", async () => {
  const ask = (cost: number) => costOf([keyRequest("key", [log], { cost })]);
  const ADMITTED = { ...DENIED_OF_SEVERAL, set: 1, rpush: 1, pexpire: 1 };
  // The first request finds no log to read.
  expect(await ask(1)).toEqual(ADMITTED);
  expect(await ask(1)).toEqual({ ...ADMITTED, lrange: 1 });
  expect(await ask(1)).toEqual({ ...ADMITTED, lrange: 1 });
  expect(await ask(1)).toEqual({ ...DENIED_OF_SEVERAL, lrange: 1 });
  // The first entry does not tell when the second one expires.
  expect(await ask(2)).toEqual({ ...DENIED_OF_SEVERAL, lrange: 2 });
});

it("is 4 more for a concurrency limit when admitted, 1 when denied, and no SET for it alone", async () => {
  const ask = (flag: Flag, slot: number) => costOf([keyRequest("key", [atOnce])], flag, undefined, slot);
  const ADMITTED = { ...DENIED_OF_SEVERAL, zcount: 1, zremrangebyscore: 1, zadd: 1, pexpire: 1 };
  for (const slot of [1, 2, 3]) expect(await ask(Flag.take, slot)).toEqual(ADMITTED);
  expect(await ask(Flag.take, 4)).toEqual({ ...DENIED_OF_SEVERAL, zcount: 1 });
  expect(await ask(Flag.chargeAnyway, 3)).toEqual(ADMITTED);
  expect(await ask(Flag.giveBack, 3)).toEqual({ ...DENIED_OF_SEVERAL, zcount: 1, zremrangebyscore: 1, zrem: 1 });
});

it("is the sum of these for any mix, and no write at all when any of them denies", async () => {
  const keys = [keyRequest("one", [fixed, log, token], { cost: 2 }), keyRequest("two", [...windows(2), atOnce])];
  const writes = { set: 2, rpush: 1, pexpire: 2, zremrangebyscore: 1, zadd: 1 };
  expect(await costOf(keys, Flag.take, undefined, 1)).toEqual({ ...DENIED_OF_SEVERAL, zcount: 1, ...writes });
  expect(await costOf(keys, Flag.take, undefined, 2)).toEqual({ ...DENIED_OF_SEVERAL, zcount: 1, lrange: 1 });
});

const id = { id: "an-id", forMs: 60_000, repeats: 1 };

it("is one SET more for a key with an id, charged or repeated, and none when denied or without an id", async () => {
  const key = keyRequest("key", windows(3), { cost: 2 });
  const once = { ...key, once: id };
  const ADMITTED = { ...DENIED_OF_SEVERAL, set: 2 };
  expect(await costOf([once])).toEqual(ADMITTED);
  // A repeat writes its id alone.
  expect(await costOf([once])).toEqual({ ...DENIED_OF_SEVERAL, set: 1 });
  expect(await costOf([once])).toEqual(DENIED_OF_SEVERAL);
  expect(await costOf([{ ...once, once: { ...id, id: "other" } }])).toEqual(DENIED_OF_SEVERAL);
  expect(await costOf([key])).toEqual(DENIED);
  const other = keyRequest("other", windows(3));
  expect(await costOf([{ ...once, key: "new" }, other])).toEqual({ ...DENIED_OF_SEVERAL, set: 3 });
  expect(await costOf([{ ...once, key: "new" }], Flag.look)).toEqual(DENIED_OF_SEVERAL);
});

it("is one DEL more to undo a request with an id, and no further command where nothing is known of the id", async () => {
  const key = { ...keyRequest("key", windows(1)), once: id };
  await costOf([key]);
  expect(await costOf([key], Flag.giveBack, Date.now())).toEqual({ ...DENIED_OF_SEVERAL, set: 1, del: 1 });
  // What was given back whole expires after 1 ms, by Redis's own clock. Until then a second undo would write it again.
  await expect.poll(() => server.redis.exists("key")).toBe(0);
  expect(await costOf([key], Flag.giveBack, Date.now())).toEqual(DENIED_OF_SEVERAL);
});

it("leaves no key without an expiry", async () => {
  for (const flag of [Flag.take, Flag.chargeAnyway, Flag.take, Flag.giveBack]) {
    const others = [fixed, month, token, log, atOnce];
    const keys = [keyRequest("one", [...windows(3), ...others], { cost: 2 }), keyRequest("two", [log], { group: 1 })];
    await store.take({ keys, flag, atMs: Date.now(), slot: flag === Flag.giveBack ? 2 : 1 });
    await store.take({ keys: [keyRequest("simulated", windows(2))], flag, atMs: 1000 }, 1000);
    await store.take({ keys: [{ ...keyRequest("named", windows(1, 9)), once: id }], flag: Flag.take });
  }
  const stored = (await server.redis.keys("*")).sort();
  const own = [limitKeyOf("one", log), limitKeyOf("one", atOnce), limitKeyOf("two", log)];
  expect(stored.filter((key) => !key.startsWith("named"))).toEqual(["one", "simulated", "two", ...own].sort());
  expect(stored).toContain(onceKeyOf("named", id));
  for (const key of stored) expect(await server.redis.pttl(key)).toBeGreaterThan(0);
});
