// consistency = "shared" with real parts: gateways in workerd, and a Redis that is far away.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startTraffic } from "../support/gateway/traffic.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const ONE_WAY_MS = 100;
const SYNC_MS = 200;
const WINDOW_MS = 2_000;
const LIMIT = 200;
/** The windows that are counted, after one that is not. */
const WINDOWS = 4;
const GATEWAYS = 3;

it("shares a limit among gateways that are far from Redis, in few calls", async () => {
  const { rest, calls, slow } = await startPrivateRedis();
  const policy = {
    name: uniqueName("shared"),
    consistency: "shared",
    sync: `${SYNC_MS}ms`,
    limits: [{ limit: LIMIT, window: `${WINDOW_MS}ms` }],
  };
  const gateways = await Promise.all(
    Array.from({ length: GATEWAYS }, () => startGateway({ redis: rest, policies: [policy] })),
  );
  const { send, pace } = startTraffic();
  // Build all Workers first, with requests of a client that is not counted below.
  await Promise.all(gateways.map((gateway) => send(gateway, "/", "192.0.2.9")));
  // In real time: the calls of those requests come from timers inside workerd, whose clock is no argument.
  await sleep(2 * SYNC_MS);
  slow(ONE_WAY_MS);
  const before = calls.length;
  // Real time: windows of Redis's clock have to pass. Three times the limit's demand.
  const startMs = Date.now();
  const overMs = (WINDOWS + 1) * WINDOW_MS;
  const sent = await pace({ count: 3 * LIMIT * (WINDOWS + 1), overMs, most: 64 }, (i) =>
    send(gateways[i % GATEWAYS]!, "/"),
  );
  const tookMs = Date.now() - startMs;
  const made = calls.length - before;
  const counted = sent.filter(({ status, answeredAtMs }) => {
    return status === 200 && answeredAtMs >= startMs + WINDOW_MS && answeredAtMs < startMs + overMs;
  });
  expect(counted.length).toBeGreaterThanOrEqual(0.9 * WINDOWS * LIMIT);
  expect(counted.length).toBeLessThanOrEqual(1.1 * WINDOWS * LIMIT);
  expect(made).toBeLessThanOrEqual(GATEWAYS * (tookMs / SYNC_MS + 1));
  expect(made).toBeGreaterThan(GATEWAYS * WINDOWS);
});
