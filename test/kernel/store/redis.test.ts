import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { Flag, keysOfRequest } from "../../../src/kernel/core/take.ts";
import { slidingWindow, type WindowLimit } from "../../../src/kernel/core/window.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import { describeStore } from "../../../src/testing/describe-store.ts";
import { windowOf } from "../../../src/testing/store-case.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { batchedFetch } from "../../support/redis/batched-fetch.ts";

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

describeStore({ open, clock, damage });

describe("expiry", () => {
  const store = open();
  const used: string[] = [];
  const newKey = () => {
    const key = `headgate-test:${randomUUID()}`;
    used.push(key);
    return key;
  };
  afterAll(() => store.reset(used));

  const limits: WindowLimit[] = [
    { limit: 5, kind: Kind.weighted, bucketMs: 10_000, buckets: 1 },
    { limit: 5, kind: Kind.whole, bucketMs: 1000, buckets: 60 },
    { limit: 5, kind: Kind.weighted, bucketMs: 31 * 86_400_000, buckets: 1 },
  ];

  it.each([Flag.take, Flag.chargeAnyway])("of a key is when its limits are as new (flag %i)", async (flag) => {
    const keys = [limits.slice(0, 1), limits.slice(1, 2), limits].map((each) => keyRequest(newKey(), each));
    const reply = await store.take({ keys, flag });
    for (const [k, { key }] of keys.entries()) {
      const waits = reply.keys[k]!.map((one) => slidingWindow.resetAfterMs(windowOf(one), limits[0]!, reply.nowMs));
      const resetAfterMs = Math.max(...waits);
      const leftMs = await redis.pttl(key);
      const elapsedMs = (await clock()) - reply.nowMs;
      expect(leftMs).toBeLessThanOrEqual(resetAfterMs);
      expect(leftMs).toBeGreaterThanOrEqual(resetAfterMs - elapsedMs);
    }
  });

  it("of a limit key is when its entries and slots have left", async () => {
    const own: LimitSpec[] = [
      { kind: Kind.log, limit: 5, windowMs: 10_000 },
      { kind: Kind.concurrency, limit: 5, timeoutMs: 20_000 },
      { kind: Kind.bucket, limit: 5, windowMs: 30_000, burst: 5, maxDelayMs: 0 },
      { kind: Kind.fixedWindow, limit: 5, windowMs: 31 * 86_400_000 },
    ];
    const key = newKey();
    const request = { keys: [keyRequest(key, own, { cost: 5 })], flag: Flag.take, slot: 1 };
    const [, log, slots] = keysOfRequest(request);
    used.push(log!, slots!);
    const { nowMs } = await store.take(request);
    for (const [name, expiryMs] of [
      [log!, 10_000],
      [slots!, 20_000],
    ] as const) {
      const leftMs = await redis.pttl(name);
      const elapsedMs = (await clock()) - nowMs;
      expect(leftMs).toBeLessThanOrEqual(expiryMs);
      expect(leftMs).toBeGreaterThanOrEqual(expiryMs - elapsedMs);
    }
  });
});

it.each([
  ["a url that is none", { url: "example", token: "t" }],
  ["a redis:// url", { url: "redis://localhost", token: "t" }],
  ["an empty token", { url: "http://localhost", token: "" }],
  ["a time budget of 0", { url: "http://localhost", token: "t", timeoutMs: 0 }],
  ["a time budget of 1.5 ms", { url: "http://localhost", token: "t", timeoutMs: 1.5 }],
])("refuses %s when it is made", (_what, options) => {
  expect(() => redisPlace(options)).toThrow(TypeError);
});
