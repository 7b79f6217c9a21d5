// States in which a real Redis refuses decisions of every algorithm. They are reported as a failing store, and nothing
// is charged.

import { mkdirSync } from "node:fs";
import { Redis } from "ioredis";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createBridge } from "../../../scripts/bridge/bridge.ts";
import { startRedisServer } from "../../../scripts/machine/redis-server.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { placesOf } from "../../../src/kernel/limiter/takers.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { createProbe, statusOf } from "../../../src/operate/health.ts";
import { redisStore } from "../../../src/stores/redis-store.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { failureOf } from "../../support/redis/stores.ts";

const windowMs = 60_000;
const window: LimitSpec = { kind: Kind.weighted, limit: 9, bucketMs: windowMs, buckets: 1 };
const bucket: LimitSpec = { kind: Kind.bucket, limit: 9, windowMs, burst: 9, maxDelayMs: 0 };
const log: LimitSpec = { kind: Kind.log, limit: 9, windowMs };
const slots: LimitSpec = { kind: Kind.concurrency, limit: 9, timeoutMs: windowMs };

const ALL: Record<string, readonly LimitSpec[]> = {
  window: [window],
  bucket: [bucket],
  log: [log],
  slots: [slots],
  mixed: [window, bucket, log, slots],
};

/** A server in a state, and how to end the state if it can be ended. */
interface State {
  readonly args?: string[];
  begin(redis: Redis): Promise<unknown>;
  end?(redis: Redis): Promise<unknown>;
}

const SNAPSHOT = "dump.rdb";
/** Where nobody listens. A port that was free a moment ago may be somebody's now. */
const NOBODY = ["127.0.0.1", 2] as const;
/** And OOM: test/lua/full.test.ts. */
const STATES: Record<string, State> = {
  READONLY: {
    begin: (redis) => redis.replicaof(...NOBODY),
    end: (redis) => redis.replicaof("NO", "ONE"),
  },
  NOREPLICAS: {
    begin: (redis) => redis.config("SET", "min-replicas-to-write", "1"),
    end: (redis) => redis.config("SET", "min-replicas-to-write", "0"),
  },
  MASTERDOWN: {
    args: ["--replica-serve-stale-data", "no"],
    begin: (redis) => redis.replicaof(...NOBODY),
    end: (redis) => redis.replicaof("NO", "ONE"),
  },
  MISCONF: {
    args: ["--dbfilename", SNAPSHOT],
    begin: failSnapshot,
    end: (redis) => redis.config("SET", "stop-writes-on-bgsave-error", "no"),
  },
  CLUSTERDOWN: {
    args: ["--cluster-enabled", "yes"],
    begin: async () => {},
  },
};

/** Makes snapshots fail: there is a directory in the place of the file. */
async function failSnapshot(redis: Redis): Promise<void> {
  // Redis ignores a failed snapshot unless it is configured to take snapshots itself.
  await redis.config("SET", "save", "3600 1");
  const [, directory = ""] = (await redis.config("GET", "dir")) as string[];
  mkdirSync(`${directory}/${SNAPSHOT}`);
  await redis.bgsave();
  await expect.poll(() => redis.info("persistence"), { timeout: 10_000 }).toContain("rdb_last_bgsave_status:err");
}

describe.each(Object.keys(STATES))("%s", (code) => {
  it("is told as a store that is not well, and nothing is charged, whatever the algorithm", async () => {
    const { args = [], begin, end } = STATES[code]!;
    const server = await startRedisServer({ args });
    const bridge = await createBridge({ redisUrl: server.url, token: "private" });
    const redis = new Redis(server.url, { disableClientInfo: true, enableReadyCheck: false });
    onTestFinished(async () => {
      redis.disconnect();
      await bridge.close();
      await server.stop();
    });
    const store = redisPlace({ url: bridge.url, token: "private", timeoutMs: 30_000 });
    const request = (name: string): TakeRequest => {
      return { keys: [keyRequest(name, ALL[name]!, { cost: 1 })], flag: Flag.take, slot: 1 };
    };

    await begin(redis);
    for (const name of Object.keys(ALL)) {
      const error = await failureOf(store.take(request(name)));
      expect([name, error]).toMatchObject([name, { code: "REDIS", redisCode: code, notRun: true, isReply: false }]);
    }
    if (!end) return;
    await end(redis);
    expect(await redis.dbsize()).toBe(0);
    for (const name of Object.keys(ALL)) expect((await store.take(request(name))).allowed).toBe(true);
  });
});

async function startOwnRedis() {
  const server = await startRedisServer();
  const redis = new Redis(server.url);
  onTestFinished(async () => {
    redis.disconnect();
    await server.stop();
  });
  const command = ([name, ...args]: [name: string, ...args: string[]]) => redis.call(name, ...args);
  return { redis, options: { command, keySecret: "a secret for tests", timeoutMs: 30_000 } };
}

it("warns of a Redis that forgets counts when it is full, until it is told not to", async () => {
  const { redis, options } = await startOwnRedis();
  const place = redisPlace(options);
  const after = async (policy: string, memory: string) => {
    await redis.config("SET", "maxmemory-policy", policy);
    await redis.config("SET", "maxmemory", memory);
    return await place.warning!();
  };
  expect(await after("volatile-lru", "0")).toBeUndefined();
  expect(await after("volatile-lru", "100mb")).toMatch(/set maxmemory-policy to noeviction, found volatile-lru$/);
  expect(await after("noeviction", "100mb")).toBeUndefined();
  await redis.call("ACL", "SETUSER", "default", "-info");
  expect(await after("volatile-lru", "100mb")).toBeUndefined();
});

it("is degraded while it evicts counts, although it does not say by which policy", async () => {
  const { redis, options } = await startOwnRedis();
  const logged = vi.spyOn(console, "warn").mockImplementation(() => {});
  const store = redisStore(options);
  const clients = ["ann", "bob", "cat", "dan", "eve"];
  const policies: PolicyInput[] = [{ name: "api", key: "header:x-user", limits: [{ limit: 5, window: "1h" }] }];
  const limiter = createLimiter({ policies, store, onDecision() {} });
  const takeAll = async () => (await Promise.all(clients.map((key) => limiter.take("api", { key })))).map(leftOf);
  const leftOf = ({ limits }: { limits: readonly { remaining: number }[] }) => limits[0]!.remaining;
  const health = () =>
    createProbe(new Map(placesOf(store).map((place) => ["redis", place])), 30_000)({ waitUntil() {} });

  await redis.config("SET", "maxmemory-policy", "volatile-lru");
  await redis.call("ACL", "SETUSER", "default", "-info", "-config|get");
  expect([await takeAll(), await takeAll()]).toEqual([Array(5).fill(4), Array(5).fill(3)]);
  expect(statusOf(await health())).toBe("ok");

  await redis.config("SET", "maxmemory", "3mb");
  const counts = await redis.keys("hg:2:*");
  expect(counts).toHaveLength(5);
  for (let i = 0; (await redis.exists(...counts)) > 0; i++) {
    const other = redis.pipeline();
    for (let j = 0; j < 100; j++) other.set(`other ${i} ${j}`, "x".repeat(10_000), "EX", 3_600);
    await other.exec();
  }
  expect(await takeAll()).toEqual(Array(5).fill(4));
  const found = await health();
  expect(found.warning).toMatch(/has lost the counts .* set maxmemory-policy to noeviction/);
  expect(statusOf(found)).toBe("degraded");
  expect(logged.mock.calls).toEqual([[JSON.stringify({ event: "note", note: found.warning })]]);
});
