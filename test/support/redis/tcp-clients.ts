// The clients of docs/stores.md and examples/redis-clients, made by these: what is shown is what the tests use.

import { readFileSync } from "node:fs";
import { transformSync } from "esbuild";
import * as ioredis from "ioredis";
import * as nodeRedis from "redis";
import type { RedisCommandOptions } from "../../../src/stores/redis-store.ts";

export interface TcpClient {
  readonly command: RedisCommandOptions["command"];
  readonly reconnect: NonNullable<RedisCommandOptions["reconnect"]>;
  close(): Promise<void>;
}

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const BLOCKS = [...read("docs/stores.md").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
const blockWith = (what: string) => BLOCKS.find((text) => text.includes(what))!;
const example = (name: string) => read(`examples/redis-clients/${name}.mjs`);

/** The clients by what makes them. */
export const CLIENTS = {
  ioredis: blockWith('new Redis("'),
  "node-redis": blockWith("createClient("),
  "ioredis, Sentinel": example("ioredis-sentinel"),
  "node-redis, Sentinel": example("node-redis-sentinel"),
  "ioredis, Cluster": example("ioredis-cluster"),
  "node-redis, Cluster": example("node-redis-cluster"),
} as const;
export type ClientName = keyof typeof CLIENTS;

/**
 * Begins to connect as the text does, to a Redis, a Sentinel or a node of a cluster on this port.
 *
 * @param options what the text does not say.
 */
export function clientAs(name: ClientName, port: number, options: object = {}): TcpClient {
  const text = CLIENTS[name].replace(/^import .*\n/gm, "").replace(/\b(6379|26379|7000)\b/g, String(port));
  const { code } = transformSync(text.replace("export const", "const"), { loader: "ts" });
  let store: RedisCommandOptions | undefined;
  const redisStore = (given: RedisCommandOptions) => {
    store = given;
  };
  const withOptions = <T extends object>(given: T): T => ({ ...given, ...options });
  const scope = {
    redisStore,
    createLimiter() {},
    Redis: class extends ioredis.Redis {
      constructor(...given: object[]) {
        super(...([...given.slice(0, -1), withOptions(given.at(-1)!)] as [never]));
      }
    },
    Cluster: class extends ioredis.Cluster {
      constructor(nodes: ioredis.ClusterNode[], given: object) {
        super(nodes, withOptions(given));
      }
    },
    createClient: (given: object) => nodeRedis.createClient(withOptions(given)),
    createSentinel: (given: nodeRedis.RedisSentinelOptions) => nodeRedis.createSentinel(withOptions(given)),
    createCluster: (given: nodeRedis.RedisClusterOptions) => nodeRedis.createCluster(withOptions(given)),
    process: { env: { KEY_SECRET: "a secret for tests" } },
    console: { error() {}, warn() {} },
  };
  const run = new Function(...Object.keys(scope), `${code}; return () => redis;`);
  const current = run(...Object.values(scope)) as () => { disconnect(): unknown; destroy?(): unknown };
  const { command, reconnect } = store!;
  const close = async () => {
    const redis = current();
    await (redis.destroy ?? redis.disconnect).call(redis);
  };
  return { command, reconnect: reconnect!, close };
}

/** Keys in hash slots of each third of a cluster. */
const EVERYWHERE = ["a", "b", "c"];

/** The same. Resolves when Redis answers, or every node of a cluster. */
export async function connectAs(...args: Parameters<typeof clientAs>): Promise<TcpClient> {
  const client = clientAs(...args);
  // Clients connect in their own time, and no event says that all nodes are reached: ask until they are.
  const deadlineAt = Date.now() + 30_000;
  for (;;) {
    const answers = EVERYWHERE.map((key) => client.command(["GET", key], key));
    const failed = (await Promise.allSettled(answers)).find((one) => one.status === "rejected");
    if (!failed) return client;
    if (Date.now() > deadlineAt) throw new Error(`expected ${args[0]} to connect, found ${failed.reason}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
