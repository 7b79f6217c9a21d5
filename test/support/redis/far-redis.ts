// A private Redis far away. Its REST service has a thread of its own: it answers while the test's thread is busy.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";
import { inject, onTestFinished } from "vitest";
import { findRedisServer, startRedisServer } from "../../../scripts/machine/redis-server.ts";

export interface FarRedisOptions {
  readonly redisUrl: string;
  readonly token: string;
}

export interface FarRedis {
  /** The REST service's URL and token. */
  readonly rest: { readonly url: string; readonly token: string };
  /** Makes each later call take `oneWayMs` to arrive, and its answer take as long to come back. */
  slow(oneWayMs: number): void;
}

/** Starts a Redis for the running test. Without a server on PATH it uses the Redis that all tests share. */
export async function startFarRedis(): Promise<FarRedis> {
  const server = findRedisServer() === undefined ? undefined : await startRedisServer();
  const options: FarRedisOptions = { redisUrl: server?.url ?? inject("redisUrl"), token: "far" };
  const thread = new Worker(new URL("./far-redis-thread.ts", import.meta.url), { workerData: options });
  onTestFinished(async () => {
    await thread.terminate();
    await server?.stop();
  });
  const [{ port }] = (await once(thread, "message")) as [AddressInfo];
  return {
    rest: { url: `http://127.0.0.1:${port}`, token: options.token },
    slow: (oneWayMs) => thread.postMessage(oneWayMs),
  };
}
