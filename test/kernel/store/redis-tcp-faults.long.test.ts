// Redis over TCP while something is broken, through the clients of docs/stores.md: a charge that may have run is never
// sent again, and one that surely did not run is charged later.

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type RedisServer, startRedisServer } from "../../../scripts/machine/redis-server.ts";
import type { BreakerChange } from "../../../src/kernel/place/breaker.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { redisStore } from "../../../src/stores/redis-store.ts";
import { firstWindow, tenMinutes } from "../../../src/testing/store-case.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { uniqueName } from "../../support/gateway/gateway.ts";
import { everythingOf } from "../../support/gateway/leaks.ts";
import { type RedisCluster, startRedisCluster } from "../../support/redis/cluster.ts";
import { type RedisSentinel, startRedisSentinel } from "../../support/redis/sentinel.ts";
import { failureOf } from "../../support/redis/stores.ts";
import { CLIENTS, type ClientName, clientAs, connectAs, type TcpClient } from "../../support/redis/tcp-clients.ts";
import { startTcpProxy, type TcpProxy } from "../../support/redis/tcp-proxy.ts";

const keySecret = "a secret for tests";
/** Only a failing test waits this long. */
const PATIENCE = { timeout: 30_000, interval: 20 };

let server: RedisServer;
let sentinel: RedisSentinel;
let cluster: RedisCluster;
beforeAll(async () => {
  // Each server ends with this process, and listens for its end.
  process.setMaxListeners(30);
  [server, sentinel, cluster] = await Promise.all([startRedisServer(), startRedisSentinel(), startRedisCluster()]);
}, 60_000);
afterAll(async () => {
  await Promise.all([server.stop(), sentinel.stop(), cluster.stop()]);
});

function portFor(name: ClientName): number {
  if (name.endsWith("Cluster")) return cluster.ports[0]!;
  return name.endsWith("Sentinel") ? sentinel.sentinel.port : server.port;
}

/** A client behind proxies, one for each server that it may ask. */
async function behindProxies(name: ClientName, options: object = {}) {
  const isCluster = name.endsWith("Cluster");
  const isSentinel = name.endsWith("Sentinel");
  const ports = isCluster ? cluster.ports : [isSentinel ? sentinel.masterPort : server.port];
  const proxies = await Promise.all(ports.map((port) => startTcpProxy(port)));
  const addresses = ports.map((port, i) => [`127.0.0.1:${port}`, { host: "127.0.0.1", port: proxies[i]!.port }]);
  const map = Object.fromEntries(addresses);
  const direct = (address: string) => map[address] ?? { host: "127.0.0.1", port: Number(address.split(":")[1]) };
  const mapped = { natMap: map, nodeAddressMap: direct };
  const port = isCluster || isSentinel ? portFor(name) : proxies[0]!.port;
  const client = await connectAs(name, port, { ...(name.includes(",") && mapped), ...options });
  onTestFinished(async () => {
    await client.close();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });
  return {
    client,
    proxies,
    fail: (fault: Parameters<TcpProxy["fail"]>[0]) => Promise.all(proxies.map((one) => one.fail(fault))),
  };
}

const limit = tenMinutes(1_000_000);
const ask = (key: string, cost = 1) => ({ keys: [keyRequest(key, [limit], { cost })], flag: 0 }) as const;
const storeOf = (client: TcpClient, timeoutMs = 30_000) =>
  redisPlace({ command: client.command, keySecret, timeoutMs });

/** The units that Redis has counted. The client may need a while to connect again. */
async function counted(client: TcpClient, key: string): Promise<number> {
  let count = Number.NaN;
  await expect
    .poll(async () => {
      const reply = await storeOf(client, 500)
        .take(ask(key, 0))
        .catch(() => undefined);
      if (reply) count = firstWindow(reply).counts.reduce((sum, one) => sum + one, 0);
      return reply !== undefined;
    }, PATIENCE)
    .toBe(true);
  return count;
}

/** More than a story takes while it waits in real time. */
const PLENTY = 1_000_000;

/** A limiter over a client, and one key to take. */
function limiterOn(client: Pick<TcpClient, "command"> & Partial<Pick<TcpClient, "reconnect">>) {
  const changes: BreakerChange[] = [];
  const onBreakerChange = (change: BreakerChange) => void changes.push(change);
  const store = redisStore({ ...client, keySecret, timeoutMs: 100, onBreakerChange });
  const policy = uniqueName("p");
  const limiter = createLimiter({ policies: [{ name: policy, limits: [{ limit: PLENTY, window: "31d" }] }], store });
  let admitted = 0;
  return {
    store,
    changes,
    admitted: () => admitted,
    used: async () => PLENTY - (await limiter.peek(policy, { key: "ann" })).remaining!,
    /** Takes a unit. @returns who has admitted it. */
    async take() {
      const { allowed, source } = await limiter.take(policy, { key: "ann" });
      expect(allowed).toBe(true);
      admitted++;
      return source;
    },
  };
}

const sent = (proxies: readonly TcpProxy[]) => proxies.reduce((sum, { scripts }) => sum + scripts, 0);

it.each(Object.keys(CLIENTS) as ClientName[])(
  "a charge whose reply is lost is sent and made once: %s",
  async (name) => {
    const { client, fail } = await behindProxies(name);
    const key = uniqueName("lost");
    await storeOf(client).take(ask(key));
    await fail("cut-after");
    const failure = await failureOf(storeOf(client, 400).take(ask(key)));
    const direct = await connectAs(name, portFor(name));
    onTestFinished(() => direct.close());
    await expect.poll(() => counted(direct, key), PATIENCE).toBeGreaterThan(1);
    await fail(undefined);
    expect(failure).toMatchObject({ code: "NETWORK", notRun: false, isReply: false });
    expect(await counted(client, key)).toBe(2);
  },
);

/** What Redis says, and what is told of it: test/redis/replies.test.ts has more. */
const SAID = [
  [
    "LOADING Redis is loading the dataset in memory",
    { code: "REDIS", redisCode: "LOADING", notRun: true, isReply: false },
  ],
  ["NOAUTH Authentication required.", { code: "UNAUTHORIZED", notRun: true, isReply: false }],
  ["CROSSSLOT Keys in request don't hash to the same slot", { code: "CROSSSLOT", notRun: true, isReply: true }],
  ["MOVED 3999 127.0.0.1:6381", { code: "REDIS", redisCode: "MOVED", notRun: true, isReply: true }],
  ["ERR internal error about hg:2:{a-secret-key}", { code: "REDIS", redisCode: "ERR", notRun: false, isReply: false }],
] as const;

describe.each(["ioredis", "node-redis"] as const)("%s", (name) => {
  it("hands on what Redis says, which is told as it is, without a key, and nothing is sent again", async () => {
    const { client, proxies, fail } = await behindProxies(name);
    for (const [says, told] of SAID) {
      await fail({ says });
      const before = sent(proxies);
      const failure = await failureOf(storeOf(client).take(ask("hg:2:{a-secret-key}")));
      expect({ says, ...failure }).toMatchObject({ says, ...told });
      expect([says, sent(proxies) - before]).toEqual([says, 1]);
      expect(everythingOf(failure)).not.toContain("a-secret-key");
    }
  });

  it("is offline with a wrong password: nothing was sent", async () => {
    const client = clientAs(name, server.port, { username: "nobody", password: "wrong" });
    onTestFinished(() => client.close());
    for (let i = 0; i < 3; i++) {
      expect(await failureOf(storeOf(client).take(ask("k")))).toMatchObject({ code: "OFFLINE", notRun: true });
    }
  });

  // The breaker probes about once a second, by the real clock.
  it.each(["refused", "hanging"] as const)("%s: falls back, opens the breaker, and charges later", async (fault) => {
    const sooner = name === "ioredis" ? { socketTimeout: 1_000 } : {};
    const { client, proxies, fail } = await behindProxies(name, sooner);
    const { command, reconnect } = client;
    const { store, changes, take, used, admitted } = limiterOn({ command, reconnect });
    // A busy machine may need longer than the budget.
    await expect.poll(take, PATIENCE).toBe("redis");

    await fail(fault);
    if (fault === "refused")
      await expect.poll(() => failureOf(store.ping()), PATIENCE).toMatchObject({ code: "OFFLINE" });
    for (let i = 0; i < 10; i++) expect(await take()).toBe("fallback");
    await expect.poll(() => store.breaker!(), PATIENCE).toBe("open");
    if (fault === "refused") expect(changes.at(-1)).toEqual({ state: "open", failure: "OFFLINE" });
    // A connection that has died without a word is given up.
    else await expect.poll(() => proxies[0]!.connections, PATIENCE).toBeGreaterThan(1);
    const before = sent(proxies);

    await fail(undefined);
    await expect.poll(take, PATIENCE).toBe("redis");
    expect(changes.at(-1)).toEqual({ state: "closed" });
    // What was refused by the client is charged later. What has hung may have run: it is not.
    if (fault === "refused") await expect.poll(used, PATIENCE).toBe(admitted());
    else await expect.poll(used, PATIENCE).toBeLessThanOrEqual(admitted());
    expect(sent(proxies)).toBeGreaterThan(before);
  });
});

// In real time: the breaker probes about once a second, and has the client connect anew every 10 s.
describe.each(Object.keys(CLIENTS) as ClientName[])("a connection that is of no use any more: %s", (name) => {
  it.each(["silent", "demoted"] as const)("is replaced by a new one: %s", async (fault) => {
    const { client, fail } = await behindProxies(name);
    const { command, reconnect } = client;
    const { store, take: source } = limiterOn({ command, reconnect });
    await expect.poll(source, PATIENCE).toBe("redis");
    await fail(fault);
    for (let i = 0; i < 5; i++) expect(await source()).toBe("fallback");
    await expect.poll(() => store.breaker!(), PATIENCE).toBe("open");
    // Connections that are made now are of no use either.
    for (const endMs = Date.now() + 2_000; Date.now() < endMs; ) await source();
    await fail(undefined);
    await expect.poll(source, PATIENCE).toBe("redis");
    await expect.poll(source, PATIENCE).toBe("redis");
  });
});

it("goes on with the replica that Sentinel has made the master", async () => {
  const names = ["ioredis, Sentinel", "node-redis, Sentinel"] as const;
  const clients = await Promise.all(names.map((name) => connectAs(name, sentinel.sentinel.port)));
  onTestFinished(async () => void (await Promise.all(clients.map((client) => client.close()))));
  const runs = clients.map(({ command }) => limiterOn({ command }));
  for (const { take } of runs) await expect.poll(take, PATIENCE).toBe("redis");
  // The replica has what the master has answered.
  await clients[0]!.command(["WAIT", "1", "1000"], "");
  await sentinel.killMaster();
  for (const { take } of runs) expect(await take()).toBe("fallback");
  for (const { take, used, admitted } of runs) {
    await expect.poll(take, PATIENCE).toBe("redis");
    await expect.poll(take, PATIENCE).toBe("redis");
    await expect.poll(used, PATIENCE).toBeGreaterThanOrEqual(3);
    await expect.poll(used, PATIENCE).toBeLessThanOrEqual(admitted());
  }
});
