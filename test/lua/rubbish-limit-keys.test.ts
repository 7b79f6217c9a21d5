// Another program wrote into a limit key. The script never fails, and the next charge replaces the unusable value.

import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { Flag, keysOfRequest, type TakeRequest } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { encodeEntry, idOf } from "../support/redis/records-codec.ts";
import { admits, argsOf } from "../support/redis/script-call.ts";
import { sharedRedis } from "../support/redis/shared-redis.ts";

const NOW_MS = 1_700_000_000_000;
const log: LimitSpec = { kind: Kind.log, limit: 5, windowMs: 60_000 };
const atOnce: LimitSpec = { kind: Kind.concurrency, limit: 2, timeoutMs: 60_000 };

let redis: ReturnType<typeof sharedRedis>;
let key: string;
beforeEach(() => {
  redis = sharedRedis();
  key = `headgate-test:{${randomUUID()}}`;
  const keys = [log, atOnce].flatMap((limit) => keysOfRequest(requestOf(limit)));
  onTestFinished(async () => {
    await redis.unlink(keys);
  });
});

function requestOf(limit: LimitSpec, cost = 1, flag: Flag = Flag.take, slot = 1, atMs = 0): TakeRequest {
  return { keys: [keyRequest(key, [limit], { cost })], flag, slot, atMs };
}

/** Whether the request is allowed, and the first number of the limit's view: units used, or requests in flight. */
async function ask(...of: Parameters<typeof requestOf>): Promise<[allowed: number, used: number]> {
  const request = requestOf(...of);
  const keys = keysOfRequest(request);
  const args = argsOf(request, NOW_MS).map(String);
  const reply = (await redis.eval(TAKE.text, keys.length, ...keys, ...args)) as number[];
  return [Number(admits(reply)), reply[2]!];
}

const ownKey = (limit: LimitSpec) => keysOfRequest(requestOf(limit))[1]!;

describe.each([log, atOnce])("kind $kind", (limit) => {
  it.each<[string, (name: string) => Promise<unknown>]>([
    ["a string", (name) => redis.set(name, "x")],
    ["a hash", (name) => redis.hset(name, "a", "b")],
    ["a set", (name) => redis.sadd(name, "a")],
    ["a stream", (name) => redis.xadd(name, "*", "a", "b")],
  ])("counts %s as nothing, and replaces it", async (_what, write) => {
    expect(await ask(limit)).toEqual([1, 1]);
    await redis.del(ownKey(limit));
    await write(ownKey(limit));
    expect(await ask(limit, 1, Flag.look)).toEqual([1, 0]);
    expect(await ask(limit)).toEqual([1, 1]);
    expect(await redis.type(ownKey(limit))).toBe(limit.kind === Kind.log ? "list" : "zset");
    expect(await redis.pttl(ownKey(limit))).toBeGreaterThan(0);
  });

  it("gives nothing back to a value of another type, and removes it", async () => {
    await ask(limit);
    await redis.set(ownKey(limit), "x");
    expect(await ask(limit, 1, Flag.giveBack, 1, NOW_MS)).toEqual([1, 0]);
    expect(await redis.exists(ownKey(limit))).toBe(0);
  });

  it("starts anew when its limit key was lost", async () => {
    await ask(limit, 1, Flag.take, 1);
    await redis.del(ownKey(limit));
    expect(await ask(limit, 1, Flag.take, 2)).toEqual([1, 1]);
  });
});

describe("a log", () => {
  it("starts anew when its record was lost, and the old entries are gone", async () => {
    await ask(log, 4);
    await redis.del(key);
    expect(await ask(log, 3)).toEqual([1, 3]);
    expect(await redis.lrangeBuffer(ownKey(log), 0, -1)).toEqual([encodeEntry({ atMs: NOW_MS, cost: 3 })]);
  });

  it("never promises a wait in the past when its entries are fewer than its record says", async () => {
    await ask(log, 2);
    await ask(log, 3);
    await redis.lset(ownKey(log), 0, "x");
    await redis.lpop(ownKey(log));
    await redis.rpush(ownKey(log), "");
    const request = requestOf(log, 5);
    const keys = keysOfRequest(request);
    const reply = await redis.eval(TAKE.text, keys.length, ...keys, ...argsOf(request, NOW_MS + 1).map(String));
    const emptyMs = NOW_MS + 60_000;
    expect(reply).toEqual([NOW_MS + 1, -idOf(log), 5, emptyMs, emptyMs, emptyMs]);
  });

  it.each(["", "x", "\xc1", "\xcf\x00"])("takes the entry %j for one that has expired", async (bytes) => {
    await ask(log, 2);
    await redis.lpush(ownKey(log), Buffer.from(bytes, "latin1"));
    expect(await ask(log)).toEqual([1, 3]);
    expect(await redis.llen(ownKey(log))).toBe(2);
  });
});
