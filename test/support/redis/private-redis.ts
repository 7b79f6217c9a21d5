// A Redis of one's own, and a REST service that counts what it is asked: for tests about calls, keys and flushed
// scripts.

import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { inject, onTestFinished } from "vitest";
import { createBridge } from "../../../scripts/bridge/bridge.ts";
import { findRedisServer, startRedisServer } from "../../../scripts/machine/redis-server.ts";
import { startOrigin } from "../gateway/origin-server.ts";

export interface PrivateRedis {
  readonly redis: Redis;
  /** The REST service, and what goes with it. */
  readonly rest: { readonly url: string; readonly token: string };
  /** The name of the command of every call to the REST service, in order. */
  readonly calls: string[];
  /**
   * From now on every call to the REST service takes so long to get there, and its answer as long to come back, in ms.
   */
  slow(oneWayMs: number): void;
  /** Nobody else uses it: true unless there was no server on PATH. */
  readonly isPrivate: boolean;
}

/** For the test that runs. Without a server on PATH (REDIS_URL alone) it is the Redis that all tests share. */
export async function startPrivateRedis(): Promise<PrivateRedis> {
  const server = findRedisServer() === undefined ? undefined : await startRedisServer();
  const redisUrl = server?.url ?? inject("redisUrl");
  const bridge = await createBridge({ redisUrl, token: "private" });
  const redis = new Redis(redisUrl, { disableClientInfo: true });
  onTestFinished(async () => {
    redis.disconnect();
    await bridge.close();
    await server?.stop();
  });

  let oneWayMs = 0;
  const wire = () => (oneWayMs > 0 ? sleep(oneWayMs) : undefined);
  const calls: string[] = [];
  const proxy = await startOrigin(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    calls.push(request.url === "/" ? String(JSON.parse(body)[0]).toLowerCase() : String(request.url));
    const headers = { Authorization: request.headers.authorization ?? "" };
    await wire();
    const answer = await fetch(`${bridge.url}${request.url}`, { method: "POST", headers, body });
    const text = await answer.text();
    await wire();
    response.writeHead(answer.status, { "Content-Type": "application/json" }).end(text);
  });
  return {
    redis,
    rest: { url: proxy.url, token: bridge.token },
    calls,
    slow: (ms) => {
      oneWayMs = ms;
    },
    isPrivate: server !== undefined,
  };
}
