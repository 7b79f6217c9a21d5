// Runs once before all tests: starts a real Redis server with the REST bridge in front of it.
//
// With REDIS_URL the server is shared and may hold other data. Therefore no test flushes it or counts its keys: each
// test uses a random partition or key prefix of its own, and looks at nothing else. Tests treat the private server the
// same way, because test files run at the same time.

import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import type { TestProject } from "vitest/node";
import { createBridge } from "../../scripts/bridge/bridge.ts";
import { redisVersion, startRedisServer } from "../../scripts/machine/redis-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The `redis://…` URL of the server under test. */
    redisUrl: string;
    /** The REST bridge in front of Redis, for `@upstash/redis`. */
    restUrl: string;
    restToken: string;
  }
}

/** The date in workerd's version: `1.20261023.1` has the Workers runtime of `2026-10-23`. */
function workerdDate(): string {
  const { version } = createRequire(import.meta.url)("workerd/package.json") as { version: string };
  return version.replace(/^\d+\.(\d{4})(\d{2})(\d{2})\..*$/, "$1-$2-$3");
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.REDIS_URL;
  const server = given ? undefined : await startRedisServer();
  const redisUrl = given || (server?.url as string);
  const version = server?.version ?? (await redisVersion(redisUrl, 5_000));
  const bridge = await createBridge({ redisUrl, token: randomBytes(16).toString("hex") });
  project.provide("redisUrl", redisUrl);
  project.provide("restUrl", bridge.url);
  project.provide("restToken", bridge.token);
  console.log(
    `tests run against ${version} (${given ? "REDIS_URL" : "private, from PATH"}) and workerd ${workerdDate()}`,
  );
  return async () => {
    await bridge.close();
    await server?.stop();
  };
}
