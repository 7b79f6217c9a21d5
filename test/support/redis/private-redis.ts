// A private Redis with a REST service that records its calls: for tests about calls, keys and flushed scripts.

import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { request as passOn } from "undici";
import { afterAll, inject, onTestFinished } from "vitest";
import { createBridge } from "../../../scripts/bridge/bridge.ts";
import { findRedisServer, startRedisServer } from "../../../scripts/machine/redis-server.ts";
import { startOrigin } from "../gateway/origin-server.ts";

export interface PrivateRedis {
  readonly redis: Redis;
  /** The REST service's URL and token. */
  readonly rest: { readonly url: string; readonly token: string };
  /** The command name of every call to the REST service, in order. */
  readonly calls: string[];
  /** Makes each later call to the REST service take `oneWayMs` to arrive, and its answer take as long to come back. */
  slow(oneWayMs: number): void;
  /** Holds the answers of later calls back. @returns a function that lets them go. */
  hold(): () => void;
  /** True if nobody else uses this Redis. False if there was no server on PATH. */
  readonly isPrivate: boolean;
}

/**
 * Starts a Redis for the running test. Without a server on PATH it uses the Redis that all tests share.
 *
 * @param stopAfter gets what stops it, one after the other.
 */
export async function startPrivateRedis(
  stopAfter: (stop: () => Promise<void>) => void = onTestFinished,
): Promise<PrivateRedis> {
  const server = findRedisServer() === undefined ? undefined : await startRedisServer();
  const redisUrl = server?.url ?? inject("redisUrl");
  const bridge = await createBridge({ redisUrl, token: "private" });
  const redis = new Redis(redisUrl, { disableClientInfo: true });
  stopAfter(async () => {
    redis.disconnect();
    await bridge.close();
    await server?.stop();
  });

  let oneWayMs = 0;
  let held: Promise<void> | undefined;
  const wire = () => (oneWayMs > 0 ? sleep(oneWayMs) : undefined);
  const calls: string[] = [];
  const proxy = await startOrigin(
    async (request, response) => {
      const body = await text(request);
      calls.push(request.url === "/" ? String(JSON.parse(body)[0]).toLowerCase() : String(request.url));
      const headers = { Authorization: request.headers.authorization ?? "" };
      await wire();
      const answer = await passOn(`${bridge.url}${request.url}`, { method: "POST", headers, body });
      const replied = await answer.body.text();
      await wire();
      await held;
      response.writeHead(answer.statusCode, { "Content-Type": "application/json" }).end(replied);
    },
    (stop) => stopAfter(async () => stop()),
  );
  return {
    redis,
    rest: { url: proxy.url, token: bridge.token },
    calls,
    slow: (ms) => {
      oneWayMs = ms;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    isPrivate: server !== undefined,
  };
}

/** One for all tests of a file, whose start costs more than they do. @returns what gives it to a test, empty. */
export function privateRedisOfFile(): () => Promise<PrivateRedis> {
  const stops: (() => Promise<void>)[] = [];
  let started: Promise<PrivateRedis> | undefined;
  afterAll(async () => {
    for (const stop of stops) await stop();
  });
  return async () => {
    started ??= startPrivateRedis((stop) => stops.push(stop));
    const server = await started;
    if (server.isPrivate) {
      await server.redis.config("SET", "maxmemory", "0");
      await server.redis.flushall();
      await server.redis.script("FLUSH");
    }
    server.calls.length = 0;
    return server;
  };
}
