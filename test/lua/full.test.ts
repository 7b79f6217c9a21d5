// A real Redis that has reached maxmemory. What grows is refused before anything is written; what shrinks passes.
//
// Redis checks only the first write of a script. A script whose first write shrinks could then grow without a check.

import { beforeEach, describe, expect, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { Flag, type KeyRequest, limitKeyOf, type TakeRequest } from "../../src/kernel/core/take.ts";
import { redisPlace } from "../../src/kernel/store/redis.ts";
import { type Store, StoreError } from "../../src/kernel/store/store.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { type PrivateRedis, privateRedisOfFile } from "../support/redis/private-redis.ts";

const NOW_MS = 1_700_000_000_000;
const WINDOW_MS = 60_000;
/** By this time, everything that was charged at `NOW_MS` has expired. */
const LATER_MS = NOW_MS + 2 * WINDOW_MS;

const limits = {
  window: { kind: Kind.weighted, limit: 100, bucketMs: WINDOW_MS, buckets: 1 },
  bucket: { kind: Kind.bucket, limit: 100, windowMs: WINDOW_MS, burst: 100, maxDelayMs: 0 },
  log: { kind: Kind.log, limit: 100, windowMs: WINDOW_MS },
  slots: { kind: Kind.concurrency, limit: 100, timeoutMs: WINDOW_MS },
} satisfies Record<string, LimitSpec>;
const { window, bucket, log, slots } = limits;
const none = (limit: LimitSpec): LimitSpec => ({ ...limit, limit: 1 });

const emptyRedis = privateRedisOfFile();
let server: PrivateRedis;
let store: Store;

beforeEach(async (context) => {
  server = await emptyRedis();
  context.skip(!server.isPrivate, "the memory of a Redis that other tests use");
  store = redisPlace({ ...server.rest, timeoutMs: 30_000 });
});

const fill = () => server.redis.config("SET", "maxmemory", "1");
const makeRoom = () => server.redis.config("SET", "maxmemory", "0");
const request = (keys: KeyRequest[], more: Partial<TakeRequest> = {}): TakeRequest => ({
  keys,
  flag: Flag.take,
  ...more,
});
const key = (name: string, of: readonly LimitSpec[], group = 0) => keyRequest(name, of, { cost: 2, group });

/** Every key's bytes, from DUMP. */
async function everything(): Promise<Record<string, Buffer | null>> {
  const names = (await server.redis.keys("*")).sort();
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await server.redis.dumpBuffer(name)])));
}

async function refusedForRoom(asked: TakeRequest, nowMs: number): Promise<void> {
  const before = await everything();
  const error = await store.take(asked, nowMs).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code: "REDIS", redisCode: "OOM", notRun: true, isReply: false });
  expect(await everything()).toEqual(before);
}

describe.each<[string, KeyRequest[]]>([
  ["a window", [key("a", [window])]],
  ["a bucket", [key("a", [bucket])]],
  ["a log", [key("a", [log])]],
  ["slots", [key("a", [slots])]],
  ["a log beside a window", [key("a", [window, log])]],
  ["slots beside a log", [key("a", [slots, log])]],
  ["a log beside slots", [key("a", [log, slots])]],
  ["all of one policy", [key("a", [window, log, slots, bucket])]],
  ["several policies", [key("a", [slots]), key("b", [log]), key("c", [window])]],
])("a full Redis and %s", (_what, keys) => {
  it("refuses a new client and one that it knows, writes nothing, and does not even drop what has expired", async () => {
    await fill();
    await refusedForRoom(request(keys, { slot: 1 }), NOW_MS);
    for (const slot of [1, 2]) {
      await makeRoom();
      await store.take(request(keys, { slot }), NOW_MS);
      await fill();
      for (const nowMs of [NOW_MS + 1, LATER_MS]) await refusedForRoom(request(keys, { slot: 3 }), nowMs);
    }
    await makeRoom();
    expect((await store.take(request(keys, { slot: 3 }), LATER_MS)).allowed).toBe(true);
  });

  it("does not grow under 20 takes", async () => {
    await store.take(request(keys, { slot: 1 }), NOW_MS);
    await fill();
    for (let slot = 2; slot <= 21; slot++) {
      const asked = request(keys, { slot });
      await expect(store.take(asked, LATER_MS + slot * WINDOW_MS)).rejects.toThrow(StoreError);
    }
    const sizes = [server.redis.llen(limitKeyOf("a", log)), server.redis.zcard(limitKeyOf("a", slots))];
    expect(Math.max(...(await Promise.all(sizes)))).toBeLessThanOrEqual(1);
  });
});

describe("a full Redis and what is in the way", () => {
  it.each<[string, LimitSpec]>([
    ["a log", log],
    ["slots", slots],
  ])("refuses %s whose limit key holds something of another type, and leaves that", async (_what, limit) => {
    const keys = [key("a", [limit])];
    await store.take(request(keys, { slot: 1 }), NOW_MS);
    await server.redis.set(limitKeyOf("a", limit), "x");
    await fill();
    await refusedForRoom(request(keys, { slot: 2 }), NOW_MS);
  });

  it("refuses a log whose record was lost, and leaves its entries", async () => {
    const keys = [key("a", [log])];
    await store.take(request(keys), NOW_MS);
    await server.redis.del("a");
    await fill();
    await refusedForRoom(request(keys), NOW_MS);
  });

  it("refuses an enforced limit although a refusing policy in shadow before it could drop expired entries", async () => {
    const shadow = key("a", [log, none(window)], 1);
    await store.take(request([key("a", [log])]), NOW_MS);
    for (const enforced of [log, slots, window]) {
      const keys = [shadow, key("b", [enforced])];
      await fill();
      await refusedForRoom(request(keys, { slot: 1 }), LATER_MS);
    }
  });

  it("refuses what is charged above the limit, later", async () => {
    for (const limit of [log, window, bucket]) {
      const keys = [key(`k${limit.kind}`, [limit])];
      await store.take(request(keys), NOW_MS);
      await fill();
      await refusedForRoom(request(keys, { flag: Flag.chargeAnyway }), LATER_MS);
      await makeRoom();
    }
  });
});

describe("a full Redis still", () => {
  const all = [window, log, slots, bucket];

  it("refuses by the limit, and drops what has expired", async () => {
    for (const slot of [1, 2]) await store.take(request([key("a", all)], { slot }), NOW_MS);
    await fill();
    const tight = [key("a", [...all.slice(1), none(window)])];
    const reply = await store.take(request(tight, { slot: 3 }), LATER_MS);
    expect(reply.allowed).toBe(false);
    expect(await server.redis.exists(limitKeyOf("a", log))).toBe(0);
  });

  it("looks", async () => {
    await store.take(request([key("a", all)], { slot: 1 }), NOW_MS);
    await fill();
    const { keys } = await store.take(request([key("a", [log])], { flag: Flag.look }), NOW_MS);
    expect(keys[0]![0]).toMatchObject({ refused: false, view: { used: 2 } });
  });

  it("releases slots", async () => {
    const keys = [key("a", [slots]), key("b", [slots])];
    for (const slot of [1, 2]) await store.take(request(keys, { slot }), NOW_MS);
    await fill();
    await store.take(request(keys, { slot: 1, flag: Flag.giveBack }), NOW_MS);
    expect(await server.redis.zrange(limitKeyOf("a", slots), "0", "-1")).toEqual(["2"]);
    expect(await server.redis.zrange(limitKeyOf("b", slots), "0", "-1")).toEqual(["2"]);
  });

  it("renews slots: a request that runs for long keeps its own", async () => {
    const keys = [key("a", [slots]), key("b", [slots])];
    for (const slot of [1, 2]) await store.take(request(keys, { slot }), NOW_MS);
    await fill();
    await store.take(request(keys, { slot: 1, flag: Flag.chargeAnyway }), NOW_MS + 1_000);
    for (const { key } of keys) {
      const lostAtMs = NOW_MS + 1_000 + WINDOW_MS;
      expect(Number(await server.redis.zscore(limitKeyOf(key, slots), "1"))).toBe(lostAtMs);
    }
  });
});
