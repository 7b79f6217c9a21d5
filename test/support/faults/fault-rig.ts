// A private Redis, its REST service, and the fault proxy in front of them: every fault between a gateway and its
// counts, by name. It imports nothing of vitest: scripts/stress/faults.ts and scripts/stress/soak.ts use it too.

import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { createBridge } from "../../../scripts/bridge/bridge.ts";
import { startRedisServer } from "../../../scripts/machine/redis-server.ts";
import { type FaultProxy, PROXY_FAULTS, startFaultProxy } from "./fault-proxy.ts";

/**
 * What happens to a command that meets the fault. `runs`: Redis runs it. `never-runs`: it does not run, but the gateway
 * cannot know that. `is-refused`: it does not run, and the gateway is told.
 */
export const FAULTS = {
  ...PROXY_FAULTS,
  /** Redis has reached `maxmemory`. */
  full: "is-refused",
  /** Redis is killed. It comes back without its data when the fault ends. */
  "restarted-empty": "never-runs",
  /** Another program writes texts and lists into headgate's keys. */
  "wrong-type": "runs",
} as const;
export type Fault = keyof typeof FAULTS;

const RUBBISH_EVERY_MS = 20;
/** At most this many keys at a time, because Redis and this process have other work too. */
const RUBBISH_KEYS = 100;

export interface FaultRig {
  /** The URL and token for the gateway. */
  readonly rest: { readonly url: string; readonly token: string };
  readonly redis: Redis;
  readonly proxy: FaultProxy;
  begin(fault: Fault): Promise<void>;
  /** Ends the current fault. */
  end(): Promise<void>;
  close(): Promise<void>;
}

export async function startFaultRig(): Promise<FaultRig> {
  // While this Redis is away, nobody else gets its port: the connections that it has ended are remembered.
  let server = await startRedisServer();
  const { port, url } = server;
  const bridge = await createBridge({ redisUrl: url, token: randomBytes(16).toString("hex") });
  const proxy = await startFaultProxy(bridge.url);
  const redis = new Redis(url, { disableClientInfo: true, retryStrategy: () => 50, maxRetriesPerRequest: null });
  redis.on("error", () => {});
  let undo = async () => {};

  /** In one transaction: a gateway that writes between two of these commands would be a different fault. */
  async function spoil(): Promise<void> {
    const spoiling = redis.multi();
    for (const [i, key] of (await redis.keys("hg:2:*")).slice(0, RUBBISH_KEYS).entries()) {
      spoiling.del(key);
      if (i % 2 === 0) spoiling.lpush(key, "rubbish");
      else spoiling.set(key, "\xc1rubbish");
      spoiling.pexpire(key, 60_000);
    }
    await spoiling.exec();
  }

  return {
    rest: { url: proxy.url, token: bridge.token },
    redis,
    proxy,
    async begin(fault) {
      if (fault === "restarted-empty") {
        await server.kill();
        await server.stop();
        undo = async () => {
          server = await startRedisServer({ port });
        };
      } else if (fault === "full") {
        await redis.config("SET", "maxmemory", "1");
        undo = async () => {
          await redis.config("SET", "maxmemory", "0");
        };
      } else if (fault === "wrong-type") {
        await spoil();
        let isOver = false;
        const spoiling = (async () => {
          while (!isOver) {
            await new Promise((resolve) => setTimeout(resolve, RUBBISH_EVERY_MS));
            await spoil();
          }
        })();
        undo = async () => {
          isOver = true;
          await spoiling;
        };
      } else {
        await proxy.set(fault);
        undo = () => proxy.set(undefined);
      }
    },
    async end() {
      await undo();
      undo = async () => {};
    },
    async close() {
      await undo();
      redis.disconnect();
      await proxy.close();
      await bridge.close();
      await server.stop();
    },
  };
}
