import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, inject, vi } from "vitest";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import { describeStore } from "../../../src/testing/describe-store.ts";
import { batchedFetch } from "../../support/redis/batched.ts";

let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject("redisUrl"), { protocol: 2 });
});
afterAll(async () => {
  await redis.quit();
});

const clock = async () => {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
};

/** A long budget for a busy machine. Timeouts are tested elsewhere. */
const open = () => redisPlace({ url: inject("restUrl"), token: inject("restToken"), timeoutMs: 30_000 });

// The vectors ask 15,000 times: their commands share requests. Every other test of the contract sends its own.
beforeEach(({ task }) => {
  if (task.suite?.name !== "the vectors") return;
  vi.stubGlobal("fetch", batchedFetch(fetch));
  return () => vi.unstubAllGlobals();
});

/** The bytes of a text are Latin-1 here. */
async function damage(key: string, change: (text: string) => string): Promise<void> {
  const type = await redis.type(key);
  if (type === "none") return;
  const text = type === "string" ? (await redis.getBuffer(key))!.toString("latin1") : "";
  await redis.set(key, Buffer.from(change(text), "latin1"), "PX", 86_400_000);
}

// When keys expire: test/lua/expiry.test.ts by the server's clock, test/lua/parity.test.ts by given instants.
describeStore({ open, clock, damage });
