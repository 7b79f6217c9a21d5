// Runs once before all tests that need Redis: starts a real Redis server with the REST bridge in front of it.
//
// With REDIS_URL the server is shared and may hold other data. Therefore no test flushes it or counts its keys: each
// test uses a random partition or key prefix of its own, and looks at nothing else. Tests treat the private server the
// same way, because test files run at the same time.

import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** The `redis://…` URL of the server under test. */
    redisUrl: string;
    /** The REST bridge in front of Redis, for `@upstash/redis`. */
    restUrl: string;
    restToken: string;
  }
}

type Bridge = typeof import("../../../scripts/bridge/bridge.ts");
type RedisServers = typeof import("../../../scripts/machine/redis-server.ts");

// Node loads them, not vitest: in the project `worker` vitest rewrites packages for workerd, and ioredis fails then.
const require = createRequire(import.meta.url);
const { createBridge } = require("../../../scripts/bridge/bridge.ts") as Bridge;
const { redisVersion, startRedisServer } = require("../../../scripts/machine/redis-server.ts") as RedisServers;

/** The date in workerd's version: `1.20261023.1` has the Workers runtime of `2026-10-23`. */
function workerdDate(): string {
  const { version } = require("workerd/package.json") as { version: string };
  return version.replace(/^\d+\.(\d{4})(\d{2})(\d{2})\..*$/, "$1-$2-$3");
}

interface Started {
  readonly redisUrl: string;
  readonly restUrl: string;
  readonly restToken: string;
  stop(): Promise<void>;
}

/** Each of the projects that need it loads this file for itself: the first starts a server for all. */
const STARTED = "headgate:redis";
const shared = globalThis as { [STARTED]?: Promise<Started> };

async function start(): Promise<Started> {
  const given = process.env.REDIS_URL;
  const server = given ? undefined : await startRedisServer();
  const redisUrl = given || (server?.url as string);
  const version = server?.version ?? (await redisVersion(redisUrl, 5_000));
  const bridge = await createBridge({ redisUrl, token: randomBytes(16).toString("hex") });
  console.log(
    `tests run against ${version} (${given ? "REDIS_URL" : "private, from PATH"}) and workerd ${workerdDate()}`,
  );
  const stop = async () => {
    delete shared[STARTED];
    await bridge.close();
    await server?.stop();
  };
  return { redisUrl, restUrl: bridge.url, restToken: bridge.token, stop };
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const isFirst = shared[STARTED] === undefined;
  shared[STARTED] ??= start();
  const { redisUrl, restUrl, restToken, stop } = await shared[STARTED];
  project.provide("redisUrl", redisUrl);
  project.provide("restUrl", restUrl);
  project.provide("restToken", restToken);
  return isFirst ? stop : undefined;
}
