// A client that goes on as fast as it can after its limit is used up: it costs Redis next to nothing, and gets what is
// due to it.

import { expect, it } from "vitest";
import { Kind } from "../../src/core/algorithm.ts";
import { ENFORCED, Flag } from "../../src/core/take.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { type Sent, startTraffic } from "../support/gateway/traffic.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

/** 150 times what may reach Redis: a gateway that asks Redis for even 1 % of the requests fails. */
const PER_SECOND = 300;
/** A machine that cannot keep the pace sends as fast as it goes. */
const MOST_OPEN = 64;
const CALLS_PER_SECOND = 2;
/** Units by which instants of the first and the last admission may differ from Redis's. */
const ENDS = 2;

/**
 * Hammers a gateway of this policy, its limit used up. @returns the trace from the first request on, and what it cost.
 */
async function hammer(consistency: string, limit: number, window: string, overMs: number) {
  const { rest, calls } = await startPrivateRedis();
  const policies = [{ name: uniqueName("hammer"), limits: [{ limit, window }], consistency }];
  const gateway = await startGateway({ redis: rest, policies });
  const { send, pace } = startTraffic();
  const first: Sent[] = [];
  while (first.at(-1)?.status !== 429) first.push(await send(gateway, "/"));

  calls.length = 0;
  const startMs = performance.now();
  const count = (PER_SECOND * overMs) / 1000;
  const hammered = await pace({ count, overMs, most: MOST_OPEN }, () => send(gateway, "/"));
  const seconds = (performance.now() - startMs) / 1000;
  return { trace: [...first, ...hammered], callsPerSecond: calls.length / seconds };
}

/** How many of the trace Redis alone would have admitted: the same algorithm, asked each time. */
async function admittedAlone(trace: readonly Sent[], limit: number, bucketMs: number): Promise<number> {
  const store = memoryStore();
  const keys = [
    { key: "k", group: ENFORCED, cost: 1, limits: [{ kind: Kind.weighted, limit, bucketMs, buckets: 1 }] },
  ] as const;
  let admitted = 0;
  for (const { sentAtMs } of [...trace].sort((a, b) => a.sentAtMs - b.sentAtMs)) {
    if ((await store.take({ keys, flag: Flag.take }, sentAtMs)).allowed) admitted++;
  }
  return admitted;
}

it.each(["strict", "leased"])("a unit comes back every second: at most 2 calls a second under %s", async (mode) => {
  const { trace, callsPerSecond } = await hammer(mode, 6, "6s", 9_000);
  const admitted = trace.filter(({ status }) => status === 200).length;
  const alone = await admittedAlone(trace, 6, 6_000);

  expect(trace.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
  expect(alone).toBeGreaterThan(6 + 2);
  expect(Math.abs(admitted - alone)).toBeLessThanOrEqual(ENDS);
  expect(callsPerSecond).toBeLessThanOrEqual(CALLS_PER_SECOND);
});

it.each(["strict", "leased"])("60 per minute: at most 2 calls a second under %s", async (mode) => {
  const { trace, callsPerSecond } = await hammer(mode, 60, "1m", 4_000);
  const admitted = trace.filter(({ status }) => status === 200).length;
  const alone = await admittedAlone(trace, 60, 60_000);

  expect(Math.abs(admitted - alone)).toBeLessThanOrEqual(ENDS);
  expect(callsPerSecond).toBeLessThanOrEqual(CALLS_PER_SECOND);
});
