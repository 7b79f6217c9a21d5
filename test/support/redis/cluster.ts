// A real Redis Cluster of three masters behind one REST service, which asks the master of the command's slot.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { Cluster, Redis } from "ioredis";
import { vi } from "vitest";
import { freePort, type RedisServer, startRedisServer } from "../../../scripts/machine/redis-server.ts";

export interface RedisCluster {
  /** The REST service's URL and token. */
  readonly rest: { readonly url: string; readonly token: string };
  /** The ports of the masters. */
  readonly ports: readonly number[];
  /** Every call to the REST service, in order: the command's name, and the first word of the error if it failed. */
  readonly calls: string[];
  stop(): Promise<void>;
}

const MASTERS = 3;
const SLOTS = 16_384;
const PATIENCE = { timeout: 30_000, interval: 50 };

export async function startRedisCluster(): Promise<RedisCluster> {
  const servers = await Promise.all(Array.from({ length: MASTERS }, startMaster));
  const nodes = servers.map(({ url }) => new Redis(url, { disableClientInfo: true }));
  const cluster = new Cluster(
    servers.map(({ port }) => ({ host: "127.0.0.1", port })),
    { lazyConnect: true, redisOptions: { disableClientInfo: true } },
  );
  await join(nodes, servers);
  await cluster.connect();

  const calls: string[] = [];

  async function run(name: string, args: string[]): Promise<{ result: unknown } | { error: string }> {
    try {
      return { result: await cluster.call(name, args) };
    } catch (error) {
      return { error: (error as Error).message };
    }
  }

  const server = createServer(async (request, response) => {
    const [name, ...args] = ((await json(request)) as unknown[]).map(String);
    const body = await run(name!, args);
    const error = "error" in body && body.error.split(" ", 1)[0];
    calls.push([name!.toLowerCase(), ...(error ? [error] : [])].join(" "));
    response.writeHead(error ? 400 : 200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    rest: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: "cluster" },
    ports: servers.map(({ port }) => port),
    calls,
    async stop() {
      server.close();
      server.closeAllConnections();
      cluster.disconnect();
      for (const node of nodes) node.disconnect();
      await Promise.all(servers.map(({ stop }) => stop()));
    },
  };
}

async function startMaster(): Promise<RedisServer> {
  return await startRedisServer({
    args: ["--cluster-enabled", "yes", "--cluster-port", String(await freePort()), "--cluster-node-timeout", "60000"],
  });
}

/** Gives each master a third of the slots, and makes them know each other. */
async function join(nodes: readonly Redis[], servers: readonly RedisServer[]): Promise<void> {
  const from = (node: number) => Math.round((SLOTS * node) / MASTERS);
  for (const [n, node] of nodes.entries()) {
    await node.cluster("ADDSLOTSRANGE", from(n), from(n + 1) - 1);
    await node.cluster("SET-CONFIG-EPOCH", n + 1);
  }
  const [, busPort] = (await nodes[0]!.config("GET", "cluster-port")) as [string, string];
  for (const node of nodes.slice(1)) await node.call("CLUSTER", "MEET", "127.0.0.1", servers[0]!.port, busPort);
  // Not `expect.poll`, which only works inside a test.
  const isJoined = async (node: Redis) => {
    const info = String(await node.cluster("INFO"));
    if (info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${MASTERS}`)) return;
    throw new Error(`expected a cluster of ${MASTERS} masters, found ${info}`);
  };
  await vi.waitFor(() => Promise.all(nodes.map(isJoined)), PATIENCE);
}
