// What a log costs Redis: memory for each entry, and commands and entries read for each decision.

import { beforeEach, describe, expect, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LogLimit } from "../../src/kernel/core/sliding-log.ts";
import { Flag, keysOfRequest, limitKeyOf, type TakeRequest } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { commandsOf } from "../support/redis/command-stats.ts";
import { type PrivateRedis, privateRedisOfFile } from "../support/redis/private-redis.ts";
import { admits, argsOf } from "../support/redis/script-call.ts";

const ENTRIES = 10_000;
const START_MS = 1_700_000_000_000;
const limit: LogLimit = { kind: Kind.log, limit: ENTRIES, windowMs: 60_000 };
const ownKey = limitKeyOf("key", limit);

const emptyRedis = privateRedisOfFile();
let server: PrivateRedis;
beforeEach(async (context) => {
  server = await emptyRedis();
  context.skip(!server.isPrivate, "the statistics of a Redis that other tests use");
  await server.redis.script("LOAD", TAKE.text);
});

const requestOf = (cost: number): TakeRequest => ({ keys: [keyRequest("key", [limit], { cost })], flag: Flag.take });

/** Takes at these instants, one after another. Returns whether each take was admitted. */
async function takeAt(instants: readonly number[], cost = 1): Promise<boolean[]> {
  const pipeline = server.redis.pipeline();
  const request = requestOf(cost);
  const keys = keysOfRequest(request);
  for (const atMs of instants) pipeline.evalsha(TAKE.sha1, keys.length, ...keys, ...argsOf(request, atMs).map(String));
  const replies = (await pipeline.exec()) ?? [];
  return replies.map(([error, reply]) => {
    if (error) throw error;
    return admits(reply as number[]);
  });
}

/** `count` instants, `stepMs` apart. */
const every = (stepMs: number, count: number, fromMs = START_MS) =>
  Array.from({ length: count }, (_, i) => fromMs + i * stepMs);

it("takes at most 40 bytes of memory for an entry, of which there are 10,000", async () => {
  expect((await takeAt(every(5, ENTRIES))).every(Boolean)).toBe(true);
  expect(await server.redis.llen(ownKey)).toBe(ENTRIES);
  const bytes = Number(await server.redis.call("MEMORY", "USAGE", ownKey, "SAMPLES", "0"));
  expect(bytes / ENTRIES).toBeLessThanOrEqual(40);
  // An entry is never smaller than its bytes. A smaller figure would mean that the test measured something else.
  expect(bytes / ENTRIES).toBeGreaterThan(10);
});

it("is one entry for a request, whatever it costs", async () => {
  await takeAt([START_MS, START_MS + 1], 2_000);
  expect(await server.redis.llen(ownKey)).toBe(2);
});

describe("expired entries", () => {
  it("leave with at most one LRANGE and one LTRIM for each decision when they leave one by one", async () => {
    await takeAt(every(60, 1_000)); // fills the window
    const commands = await commandsOf(server.redis, () => takeAt(every(60, 1_000, START_MS + 60_000)));
    expect(commands).toMatchObject({ lrange: 1_000, ltrim: 1_000, rpush: 1_000 });
    expect(await server.redis.llen(ownKey)).toBe(1_000);
  });

  it("leave with few commands when thousands leave at once, and each is read about once", async () => {
    await takeAt(every(1, ENTRIES));
    const commands = await commandsOf(server.redis, () => takeAt([START_MS + ENTRIES + 60_000]));
    expect(await server.redis.llen(ownKey)).toBe(1);
    expect(commands.lrange).toBeLessThanOrEqual(11);
    expect(commands.ltrim).toBe(1);
  });

  it("are all gone after a decision that refuses, too, and stay gone", async () => {
    await takeAt(every(1, 100));
    const refused = await takeAt([START_MS + 60_049], ENTRIES);
    expect(refused).toEqual([false]);
    expect(await server.redis.llen(ownKey)).toBe(50);
  });
});

it("reads the log for a refusal in one bounded command, after the head that every decision looks at", async () => {
  await takeAt(every(1, ENTRIES));
  const ask = (cost: number) => commandsOf(server.redis, () => takeAt([START_MS + ENTRIES], cost));
  expect(await ask(1)).toEqual({ evalsha: 1, mget: 1, lrange: 1 });
  expect(await ask(5_000)).toEqual({ evalsha: 1, mget: 1, lrange: 2 });
  expect(await ask(ENTRIES + 1)).toEqual({ evalsha: 1, mget: 1, lrange: 1 });
});
