// A client that goes on as fast as it can after its limit is used up. It costs Redis almost nothing, and it still gets
// the units that come back.

import { expect, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { ENFORCED, Flag } from "../../src/kernel/core/take.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { firstOf } from "../support/cases/draws.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { type Sent, startTraffic } from "../support/gateway/traffic.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const MODES = ["strict", "leased"];

/** 75 times the calls that may reach Redis. The test fails even if only 1 % more of the requests ask Redis. */
const PER_SECOND = 150;
/** The most requests open at a time. A machine that cannot keep the pace sends more slowly. */
const MOST_OPEN = 64;
const CALLS_PER_SECOND = 2;
/** The admitted units may differ by this much, because the first and last instants differ from those at Redis. */
const ENDS = 2;

/**
 * Uses up the limit of a gateway with this policy, then sends at PER_SECOND.
 *
 * @returns all requests from the first one on, and the calls to Redis per second.
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

/** How many of these requests Redis alone would have admitted: the same algorithm, asked for every request. */
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

it.each(firstOf(MODES))("a unit comes back every second: at most 2 calls a second under %s", async (mode) => {
  const { trace, callsPerSecond } = await hammer(mode, 6, "6s", 9_000);
  const admitted = trace.filter(({ status }) => status === 200).length;
  const alone = await admittedAlone(trace, 6, 6_000);

  expect(trace.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
  expect(alone).toBeGreaterThan(6 + 2);
  expect(Math.abs(admitted - alone)).toBeLessThanOrEqual(ENDS);
  expect(callsPerSecond).toBeLessThanOrEqual(CALLS_PER_SECOND);
});
