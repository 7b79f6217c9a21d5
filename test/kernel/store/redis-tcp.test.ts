// Redis over TCP, through the clients of docs/stores.md: the contract of every store, the live document, and limiters
// on one Redis, on Sentinel and on a Cluster.

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Flag, LIVE_KEY } from "../../../src/kernel/core/layout.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { redisStore } from "../../../src/stores/redis-store.ts";
import { describeStore } from "../../../src/testing/describe-store.ts";
import { tenMinutes } from "../../../src/testing/store-case.ts";
import { describeLiveStorage } from "../../support/cases/live-storage.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { uniqueName } from "../../support/gateway/gateway.ts";
import { createLimiter } from "../../support/limiter.ts";
import { type RedisCluster, startRedisCluster } from "../../support/redis/cluster.ts";
import { type RedisSentinel, startRedisSentinel } from "../../support/redis/sentinel.ts";
import { CLIENTS, type ClientName, connectAs, type TcpClient } from "../../support/redis/tcp-clients.ts";

/** Long, for a busy machine. */
const OPTIONS = { keySecret: "a secret for tests", timeoutMs: 30_000 };

let sentinel: RedisSentinel;
let cluster: RedisCluster;
beforeAll(async () => {
  // Each server ends with this process, and listens for its end.
  process.setMaxListeners(30);
  [sentinel, cluster] = await Promise.all([startRedisSentinel({ replicas: 0 }), startRedisCluster()]);
}, 60_000);
afterAll(async () => {
  await Promise.all([sentinel.stop(), cluster.stop()]);
});

function portFor(name: ClientName): number {
  if (name.endsWith("Cluster")) return cluster.ports[0]!;
  return name.endsWith("Sentinel") ? sentinel.sentinel.port : sentinel.masterPort;
}

/** All keys get one hash tag: the keys of a call to a cluster lie in one hash slot. */
function inOneSlot(store: Store): Store {
  const tagged = (key: string) => `{one}${key}`;
  return {
    ...store,
    async take(request, nowMs) {
      const keys = request.keys.map((one) => ({ ...one, key: tagged(one.key) }));
      const reply = await store.take({ ...request, keys }, nowMs);
      return { ...reply, charged: reply.charged.map((one) => ({ ...one, key: one.key.slice("{one}".length) })) };
    },
    reset: (keys) => store.reset(keys.map(tagged)),
  };
}

describe.each(Object.keys(CLIENTS) as ClientName[])("%s", (name) => {
  let client: TcpClient;
  beforeAll(async () => {
    client = await connectAs(name, portFor(name));
  });
  afterAll(() => client.close());

  // The way to Redis is the same for all numbers: one client makes the 15,000 calls of the vectors, in the long run. In
  // `npm test` they are told over REST. A client's way to Sentinel or a Cluster is its own; what goes over it is the
  // same.
  const isLong = process.env.TESTS === "all";
  beforeEach(({ task, skip }) => {
    const isVectors = task.suite?.name === "the vectors";
    skip(isVectors && (name !== "ioredis" || !isLong), "ioredis tells the vectors, on one Redis, in the long run");
    const isContract = task.suite?.name !== "the live document" && task.suite?.suite?.name === "the store contract";
    skip(isContract && name.includes(",") && !isLong, "the contract over Sentinel and a Cluster is in the long run");
  });

  const place = () => {
    const store = redisPlace({ command: client.command, ...OPTIONS });
    return name.endsWith("Cluster") ? inOneSlot(store) : store;
  };
  describeStore({
    open: place,
    async clock() {
      const [seconds, microseconds] = (await client.command(["TIME"], "")) as [string, string];
      return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
    },
    damage: "test/kernel/store/redis.test.ts damages what Redis holds",
  });

  describe("the live document", () => {
    describeLiveStorage(async () => {
      await client.command(["DEL", LIVE_KEY], LIVE_KEY);
      return place().live!;
    });
  });

  const limiterOf = (policies: readonly object[]) => {
    const commands: string[][] = [];
    const store = redisStore({
      ...OPTIONS,
      command(args, key) {
        commands.push(args);
        return client.command(args, key);
      },
    });
    return { commands, limiter: createLimiter({ policies: policies as never, store }) };
  };

  it("lets two limiters admit exactly the limits of three policies, in whatever hash slots their keys lie", async () => {
    const policies = [60, 20, 1_000].map((limit) => ({ name: uniqueName("p"), limits: [{ limit, window: "31d" }] }));
    const limiters = [limiterOf(policies), limiterOf(policies)];
    const takes = policies.map(({ name: policy }) => ({ policy, key: "ann" }));
    const decisions = await Promise.all(Array.from({ length: 40 }, (_, i) => limiters[i % 2]!.limiter.take(takes)));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20);
    const left = async () => (await limiters[0]!.limiter.peek(takes)).limits.map(({ remaining }) => remaining);
    await expect.poll(left).toEqual([40, 0, 980]);
    for (const { policy, key } of takes) await limiters[1]!.limiter.reset(policy, { key });
    await expect.poll(left).toEqual([60, 20, 1_000]);
    const keysOf = limiters[0]!.commands.map(([, , count]) => count);
    // A cluster has refused the keys of several hash slots once for each limiter. Then each slot is asked by itself.
    expect(keysOf.at(-1)).toBe(name.endsWith("Cluster") ? "1" : "3");
  });
});

it("shows a mistake in command on the console: whatever is asked, it is a failure of the store", async () => {
  const written = vi.spyOn(console, "error").mockImplementation(() => {});
  const mistake = new TypeError("client.call is not a function");
  const command = () => {
    throw mistake;
  };
  const store = redisPlace({ command, ...OPTIONS });
  const take = store.take({ keys: [keyRequest("k", [tenMinutes(1)])], flag: Flag.take });
  for (const work of [take, store.ping(), store.reset(["k"]), store.live!.read()]) {
    await expect(work).rejects.toMatchObject({ name: "StoreError", code: "UNKNOWN", notRun: false });
  }
  expect(written.mock.calls.flat()).toContain(mistake);
});
