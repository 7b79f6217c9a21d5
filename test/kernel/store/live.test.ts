// The live document in memory and in a real Redis. Each test has an empty Redis: the document has one key.

import { describe, expect, it } from "vitest";
import { findRedisServer } from "../../../scripts/machine/redis-server.ts";
import { LIVE_KEY } from "../../../src/kernel/core/layout.ts";
import { memoryLive } from "../../../src/kernel/store/live.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import { redisStore } from "../../../src/stores/redis-store.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { describeLiveStorage } from "../../support/cases/live-storage.ts";
import { createLimiter } from "../../support/limiter.ts";
import { commandsOf } from "../../support/redis/command-stats.ts";
import { privateRedisOfFile } from "../../support/redis/private-redis.ts";

describe("in memory", () => describeLiveStorage(memoryLive));

const timeoutMs = 30_000;

const emptyRedis = privateRedisOfFile();

async function server(start = emptyRedis) {
  const started = await start();
  return { ...started, live: redisPlace({ ...started.rest, timeoutMs }).live! };
}

const isAlone = findRedisServer() !== undefined;

describe.runIf(isAlone)("in Redis", () => {
  describeLiveStorage(async () => (await server()).live);

  it("is one hash without an expiry, which a limiter's counts do not touch", async () => {
    const { redis, rest, live } = await server();
    await live.write("text", 0);
    const limiter = createLimiter({
      policies: [{ name: "live", limits: [{ limit: 5, window: "1m" }] }],
      store: redisStore({ ...rest, timeoutMs }),
    });
    await limiter.take("live", { key: "ann" });
    await limiter.reset("live", { key: "ann" });
    const fields = { version: "1", mark: expect.stringMatching(/^[0-9a-f-]{36}$/), text: "text" };
    expect([await redis.hgetall(LIVE_KEY), await redis.ttl(LIVE_KEY)]).toEqual([fields, -1]);
    // The key has no storage version: docs/storage-schema.md.
    expect(LIVE_KEY).toBe("hg:live");
  });

  it("costs a call of 2 commands if nothing is new, of 3 if something is", async () => {
    const { redis, live } = await server();
    await live.write("text", 0);
    await live.read(1);
    expect(await commandsOf(redis, () => live.read(1))).toEqual({ evalsha: 1, hmget: 1 });
    expect(await commandsOf(redis, () => live.read(0))).toEqual({ evalsha: 1, hmget: 2 });
    expect(await commandsOf(redis, () => live.write("more", 1))).toEqual({ evalsha: 1, hmget: 1, hset: 1 });
    expect(await commandsOf(redis, () => live.write("more", 1))).toEqual({ evalsha: 1, hmget: 1 });
  });

  it("is read anew if it has vanished and another one has come to the same version", async () => {
    const { redis, rest, live } = await server();
    const other = redisPlace({ ...rest, timeoutMs }).live!;
    await live.write("one", 0);
    await other.read();
    await redis.flushall();
    expect(await live.read(1)).toEqual({ version: 0, text: undefined });
    await live.write("two", 0);
    expect(await other.read(1)).toEqual({ version: 1, text: "two" });
    for (const storage of [live, other]) expect(await storage.read(1)).toBeUndefined();
  });

  it("may have no mark, as a document that was written by hand", async () => {
    const { redis, live } = await server();
    await redis.hset(LIVE_KEY, { version: "3", text: "by hand" });
    expect(await live.read()).toEqual({ version: 3, text: "by hand" });
    expect(await live.read(3)).toBeUndefined();
    expect(await live.write("four", 3)).toBe(4);
    expect(await live.read(3)).toEqual({ version: 4, text: "four" });
  });

  it("is a failure, and stays as it is, if the key holds another type", async () => {
    const { redis, live } = await server();
    await redis.rpush(LIVE_KEY, "a", "b");
    const wrong = { name: "StoreError", code: "REDIS", redisCode: "WRONGTYPE", message: "store: REDIS (WRONGTYPE)" };
    await expect(live.read()).rejects.toMatchObject(wrong);
    await expect(live.write("raw-key", 0)).rejects.toMatchObject(wrong);
    expect(await redis.lrange(LIVE_KEY, 0, -1)).toEqual(["a", "b"]);
  });

  it.each(["", "seven", "-3", "1e999", "7.5", "9007199254740993"])(
    "counts as version 0 if its version is %j, and is repaired by the next write",
    async (version) => {
      const { redis, live } = await server();
      await redis.hset(LIVE_KEY, { version, text: "text" });
      for (const known of [undefined, 7]) expect(await live.read(known)).toEqual({ version: 0, text: "text" });
      expect(await live.write("other", 7)).toBeUndefined();
      expect(await redis.hgetall(LIVE_KEY)).toEqual({ version, text: "text" });
      expect(await live.write("other", 0)).toBe(1);
      expect(await redis.hgetall(LIVE_KEY)).toMatchObject({ version: "1", text: "other" });
    },
  );

  it.each([
    ["text", { version: 1, text: undefined }],
    ["version", { version: 0, text: "one" }],
  ])("counts as without %s if somebody has removed that, and gets one with the next write", async (field, found) => {
    const { redis, live } = await server();
    await live.write("one", 0);
    await redis.hdel(LIVE_KEY, field);
    expect(await live.read(field === "text" ? 0 : 1)).toEqual(found);
    expect(await live.write("two", found.version)).toBe(found.version + 1);
    expect(await live.read(found.version)).toEqual({ version: found.version + 1, text: "two" });
  });

  it("may take longer than the time budget to be read, from Redis and from another far store", async () => {
    const { rest, hold, live } = await server();
    await live.write("text", 0);
    const hurried = redisPlace({ ...rest, timeoutMs: 50 });
    const remote = remoteStore({ ...hurried, kind: "far", live }, { timeoutMs: 50 });
    for (const storage of [hurried.live!, remote.live!]) {
      // A busy isolate extends its budget to 2 s: no answer of a fixed delay is certain to come after it.
      const letGo = hold();
      const patient = storage.read(undefined, 30_000);
      await expect(storage.read()).rejects.toMatchObject({ name: "StoreError", code: "TIMEOUT" });
      letGo();
      expect(await patient).toEqual({ version: 1, text: "text" });
    }
  });
});
