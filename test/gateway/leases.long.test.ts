// What happens to leased units when clients go away: none is lost.

import { decodeMulti } from "@msgpack/msgpack";
import type { Redis } from "ioredis";
import { expect, it } from "vitest";
import type { WindowRecord } from "../../src/kernel/core/window.ts";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { openRaw } from "../support/gateway/raw.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";
import { recordsIn } from "../support/redis/records-codec.ts";

/** The window is so long that no unit leaves it. A lease lives a twentieth of the window: 3 s. */
const LIMIT = { limit: 1_000, window: "1m", buckets: 60 };
const PATIENCE = { timeout: 30_000, interval: 50 };

/** The units charged under a policy's first limit, as Redis has them. */
async function charged(redis: Redis, policy: string): Promise<number> {
  const [key] = await redis.keys(`hg:2:{${policy}:*`);
  const stored = key && (await redis.getBuffer(key));
  if (!stored) return 0;
  const [record] = recordsIn([...decodeMulti(stored)]);
  return (record as WindowRecord).counts.reduce((sum, count) => sum + count, 0);
}

async function burst({ fetch }: Gateway, requests: number, path = "/"): Promise<Response[]> {
  return await Promise.all(Array.from({ length: requests }, () => fetch(path)));
}

/** Sends a request, and resets its connection when `gone` resolves. */
async function leave(gateway: Gateway, gone: Promise<unknown>): Promise<void> {
  const client = openRaw(gateway, "GET / HTTP/1.1\r\nCF-Connecting-IP: 192.0.2.1");
  await gone;
  client.resetAndDestroy();
}

it.each(["strict", "leased"])("a client that resets in the middle of an ask is charged once under %s", async (mode) => {
  const { redis, rest, calls, slow } = await startPrivateRedis();
  const name = uniqueName("reset");
  const gateway = await startGateway({ redis: rest, policies: [{ name, limits: [LIMIT], consistency: mode }] });
  await gateway.fetch("/");
  slow(150);

  const before = calls.length;
  await leave(gateway, expect.poll(() => calls.length, PATIENCE).toBeGreaterThan(before));

  const start = performance.now();
  const next = await burst(gateway, 5);
  expect(next.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  // A stuck isolate would answer only after it gives up the abandoned call, or after the store's budget of 10 s.
  expect(performance.now() - start).toBeLessThan(9_000);
  await expect.poll(() => charged(redis, name), PATIENCE).toBe(1 + 1 + 5);
});
