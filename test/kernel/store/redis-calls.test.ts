// Counts the calls of a take to the REST service and to Redis. It needs a private Redis, because it flushes scripts.

import { afterEach, expect, it, vi } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import { firstWindow } from "../../../src/testing/store-case.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { type PrivateRedis, startPrivateRedis } from "../../support/redis/private-redis.ts";

/** In buckets of 31 days: no bucket ends during a test. */
const limit: WindowLimit = { limit: 10, kind: Kind.weighted, bucketMs: 31 * 86_400_000, buckets: 1 };

function storeOf({ rest, calls }: PrivateRedis, url = rest.url) {
  const store = redisPlace({ url, token: rest.token, timeoutMs: 30_000 });
  return {
    /** Takes 1 unit. Returns the units charged so far, and the calls of this take. */
    async take() {
      calls.length = 0;
      const reply = await store.take({ keys: [keyRequest("key", [limit])], flag: Flag.take });
      return { charged: firstWindow(reply).counts[0], calls: [...calls] };
    },
  };
}

afterEach(() => {
  vi.unstubAllGlobals();
});

it("asks once, and once more when the script is not known, for one charge", async (context) => {
  const server = await startPrivateRedis();
  context.skip(!server.isPrivate, "flushes scripts that other tests use");
  const { take } = storeOf(server);
  expect(await take()).toEqual({ charged: 1, calls: ["evalsha", "eval"] });
  expect(await take()).toEqual({ charged: 2, calls: ["evalsha"] });
  await server.redis.script("FLUSH");
  expect(await take()).toEqual({ charged: 3, calls: ["evalsha", "eval"] });
  expect(await take()).toEqual({ charged: 4, calls: ["evalsha"] });
});

it("sends an upstash.io host the variant that locks only its keys, and falls back once where it is refused", async (context) => {
  const server = await startPrivateRedis();
  context.skip(!server.isPrivate, "counts calls that depend on which scripts are known");
  const toPrivateRedis = fetch;
  vi.stubGlobal("fetch", (url: string, init: RequestInit) =>
    toPrivateRedis(url.replace("https://example.upstash.io", server.rest.url), init),
  );
  const { take } = storeOf(server, "https://example.upstash.io");
  // The first variant: not known, then refused before it ran. The plain variant: not known, then loaded.
  expect(await take()).toEqual({ charged: 1, calls: ["evalsha", "eval", "evalsha", "eval"] });
  expect(await take()).toEqual({ charged: 2, calls: ["evalsha"] });
  await server.redis.script("FLUSH");
  expect(await take()).toEqual({ charged: 3, calls: ["evalsha", "eval"] });
});

it("makes one call for a reset, one for a ping, and no call for a reset of nothing", async () => {
  const server = await startPrivateRedis();
  const store = redisPlace({ ...server.rest, timeoutMs: 30_000 });
  await store.reset(["one", "two"]);
  await store.ping();
  await store.reset([]);
  expect(server.calls).toEqual(["del", "ping"]);
});
