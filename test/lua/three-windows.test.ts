// The story of three windows in every order of the limits, through core and through the script on Redis.

import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Flag } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { firstOf } from "../support/cases/draws.ts";
import { mostAdmittedWithin } from "../support/cases/replay.ts";
import { Counter, keyRequest } from "../support/gateway/counter.ts";
import { admits, argsOf } from "../support/redis/script-call.ts";
import { sharedRedis } from "../support/redis/shared-redis.ts";
import { hourOfTraffic, orders, promises, type Request, rightAnswers } from "../support/redis/three-windows.ts";

const START_MS = 1_700_000_000_000;

const requestOf = (key: string, { cost }: Request, limits: (typeof orders)[number]) => {
  return { keys: [keyRequest(key, limits, { cost })], flag: Flag.take };
};

/** Random numbers from 0 to 1. The same seed gives the same numbers. */
function randomOf(seed: number): () => number {
  const numbers = fc.sample(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { seed, numRuns: 20_000 });
  let at = 0;
  return () => numbers[at++ % numbers.length]!;
}

describe.each(firstOf([1, 2, 3]))("an hour of random traffic, %i", (seed) => {
  const requests = hourOfTraffic(randomOf(seed), START_MS);
  const right = rightAnswers(requests);

  it("is enough to reach every limit", () => {
    expect(right.filter(Boolean).length).toBeGreaterThan(100);
    expect(right.filter((allowed) => !allowed).length).toBeGreaterThan(100);
  });

  it.each(promises)("never exceeds a promise: in %i ms at most %i units", (spanMs, units) => {
    const asked = requests.map((request, i) => ({ ...request, allowed: right[i]! }));
    expect(mostAdmittedWithin(spanMs, asked)).toBeLessThanOrEqual(units);
  });

  it.each(orders.map((limits) => ({ limits, order: limits.map(({ limit }) => limit).join(", ") })))(
    "is admitted by core exactly where all three admit, asked in the order $order",
    ({ limits }) => {
      const counter = new Counter();
      const answers = requests.map((request) => counter.take(requestOf("key", request, limits), request.atMs).allowed);
      expect(answers).toEqual(right);
    },
  );

  it("is admitted by the script exactly where all three admit, in every order", async () => {
    const redis = sharedRedis();
    await redis.script("LOAD", TAKE.text);
    const key = `headgate-test:${randomUUID()}`;
    for (const limits of orders) {
      const pipeline = redis.pipeline();
      for (const request of requests) {
        const args = argsOf(requestOf(key, request, limits), request.atMs);
        pipeline.evalsha(TAKE.sha1, 1, key, ...args.map(String));
      }
      const replies = (await pipeline.unlink(key).exec()) ?? [];
      expect(replies.slice(0, -1).map(([, reply]) => admits(reply as number[]))).toEqual(right);
    }
  });
});
