// The script as text: the generated file, its hashes and its two variants. Also the clock that the script reads.

import { spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { joinLua, readLua } from "../../scripts/build/build-lua.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { LIVE, LIVE_KEY_LOCKING, TAKE, TAKE_KEY_LOCKING } from "../../src/kernel/store/redis/script.generated.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { idOf } from "../support/redis/records-codec.ts";
import { argsOf } from "../support/redis/script-call.ts";

let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject("redisUrl"), { protocol: 2 });
});
afterAll(async () => {
  await redis.quit();
});

it("is what lua/ says", () => {
  const script = fileURLToPath(new URL("../../scripts/build/build-lua.ts", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

describe.each([
  ["take.lua", TAKE, TAKE_KEY_LOCKING],
  ["live.lua", LIVE, LIVE_KEY_LOCKING],
])("%s", (_name, plain, keyLocking) => {
  it("has the SHA-1 by which Redis knows it", async () => {
    expect(await redis.script("LOAD", plain.text)).toBe(plain.sha1);
    expect(keyLocking.sha1).toBe(createHash("sha1").update(keyLocking.text).digest("hex"));
  });

  it("is the same script for Upstash, after a line that asks for locks on its keys only", () => {
    expect(keyLocking.text).toBe(`#!lua flags=allow-key-locking\n${plain.text}`);
  });

  it("has no comment lines, no indentation and no include left", () => {
    expect(plain.text).not.toMatch(/^(\s|--)/m);
  });
});

it("keeps a comment behind a line of an include", () => {
  const take = "--@include records\n  local one = 1 -- kept\n\n";
  expect(joinLua("take", { ...readLua(), take })).toMatch(/\nlocal one = 1 -- kept\n$/);
});

it.each([
  ["no file has", "-- no kind", "lua/: no file has the kind log of src/kernel/core/layout.ts"],
  ["two files have", "--@kinds KIND_LOG KIND_BUCKET", "lua/token_bucket.lua: KIND_BUCKET is a kind of sliding_log.lua"],
  ["the layout has not", "--@kinds KIND_MONTH", "lua/sliding_log.lua: KIND_MONTH is not in src/kernel/core/layout.ts"],
])("is not built with a kind that %s", (_, kinds, message) => {
  expect(() => joinLua("take", { ...readLua(), sliding_log: kinds })).toThrow(message);
});

it("reads the clock of the server, to the millisecond", async () => {
  const key = `headgate-test:${randomUUID()}`;
  const limit = { limit: 5, kind: Kind.weighted, bucketMs: 1000, buckets: 1 };
  const args = argsOf({ keys: [keyRequest(key, [limit], { cost: 0 })], flag: Flag.take }, 0).map(String);
  const calls = Array.from({ length: 50 }, () =>
    redis
      .pipeline()
      .time()
      .eval(TAKE.text, 1, key, ...args)
      .time()
      .exec(),
  );
  for (const results of await Promise.all(calls)) {
    const [before, reply, after] = results!.map(([, value]) => value as (string | number)[]);
    const milliseconds = ([seconds, microseconds]: (string | number)[] = []) =>
      Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
    const nowMs = Number(reply![0]);
    expect(nowMs).toBeGreaterThanOrEqual(milliseconds(before));
    expect(nowMs).toBeLessThanOrEqual(milliseconds(after));
    expect(reply).toEqual([nowMs, idOf(limit), Math.floor(nowMs / 1000), 0, 0]);
  }
});

it("fails, and writes nothing, if it may not read", async () => {
  const [key, user] = [`headgate-test:${randomUUID()}`, `writer-${randomUUID()}`];
  await redis.call("ACL", "SETUSER", user, "on", ">secret", "~*", "+eval", "+time", "+mget", "+set");
  const writer = new Redis(inject("redisUrl"), { username: user, password: "secret", enableReadyCheck: false });
  writer.on("error", () => {});
  onTestFinished(async () => {
    writer.disconnect();
    await redis.call("ACL", "DELUSER", user);
    await redis.unlink(key);
  });
  await redis.set(key, "counts");
  const limit = { limit: 5, kind: Kind.weighted, bucketMs: 1000, buckets: 1 };
  const args = argsOf({ keys: [keyRequest(key, [limit])], flag: Flag.take }, 0).map(String);
  await expect(writer.eval(TAKE.text, 1, key, ...args)).rejects.toThrow(/can't run this command|no permissions to run/);
  expect(await redis.get(key)).toBe("counts");
});

it("answers with integers only, whatever the instant", async () => {
  const key = `headgate-test:${randomUUID()}`;
  const latestMs = 8_640_000_000_000_000; // the last instant of a Date
  const limit = { limit: 1_000_000_000, kind: Kind.weighted, bucketMs: 1, buckets: 1 };
  const args = argsOf({ keys: [keyRequest(key, [limit], { cost: 7 })], flag: Flag.take }, latestMs).map(String);
  expect(await redis.eval(TAKE.text, 1, key, ...args)).toEqual([latestMs, idOf(limit), latestMs, 7, 0]);
  await redis.unlink(key);
});
