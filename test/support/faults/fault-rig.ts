// A Redis of one's own, its REST service, and the fault proxy in front: everything that can go wrong between a gateway
// and its counts, by name. Knows nothing of vitest: scripts/stress/faults.ts and scripts/stress/soak.ts use it too.

import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { createBridge } from "../../../scripts/bridge/bridge.ts";
import { type RedisServer, startRedisServer } from "../../../scripts/machine/redis-server.ts";
import { type FaultProxy, PROXY_FAULTS, startFaultProxy } from "./fault-proxy.ts";

/**
 * What becomes of a command that meets the fault: it runs, it never does, or it never does and the gateway can know.
 */
export const FAULTS = {
  ...PROXY_FAULTS,
  /** Redis has reached `maxmemory`. */
  full: "is-refused",
  /** Redis is killed, and comes back without its data when the fault ends. */
  "restarted-empty": "never-runs",
  /** Another program writes texts and lists under our keys. */
  "wrong-type": "runs",
} as const;
export type Fault = keyof typeof FAULTS;

const RUBBISH_EVERY_MS = 20;
/** At a time: Redis and this process have other things to do. */
const RUBBISH_KEYS = 100;
/** As the proxy's, and not the same. */
const PORTS = { from: 12_000, to: 19_999 };

export interface FaultRig {
  /** What a gateway is to use. */
  readonly rest: { readonly url: string; readonly token: string };
  readonly redis: Redis;
  readonly proxy: FaultProxy;
  begin(fault: Fault): Promise<void>;
  /** Ends the fault that was begun. */
  end(): Promise<void>;
  close(): Promise<void>;
}

export async function startFaultRig(): Promise<FaultRig> {
  let server = await startSomewhere();
  const { port, url } = server;
  const bridge = await createBridge({ redisUrl: url, token: randomBytes(16).toString("hex") });
  const proxy = await startFaultProxy(bridge.url);
  const redis = new Redis(url, { disableClientInfo: true, retryStrategy: () => 50, maxRetriesPerRequest: null });
  redis.on("error", () => {});
  let undo = async () => {};

  /** At once: a gateway that writes between two of these commands would be another fault. */
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

/** On a port that it can come back to: the system gives these out to nobody. */
async function startSomewhere(): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from));
    try {
      return await startRedisServer({ port });
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}
