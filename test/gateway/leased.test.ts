// Leases with real parts: four regions, and one Redis that is 40 ms away. The same traffic under `leased` and `strict`.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { nextSecond, startTraffic } from "../support/gateway/traffic.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const REGIONS = ["eu", "na", "as", "sa"];
const LIMIT = 500;
const ONE_WAY_MS = 40;
const REQUESTS = 1_000;
const OVER_MS = 4_000;
/** The most open requests, 3 times what the pace needs. A machine that cannot keep the pace sends more slowly. */
const MOST_OPEN = 64;
const WINDOW_MS = 10_000;
const QUARTER_MS = 250;

it("answers four regions from leases: no unit too many, few unused, a quarter of the calls", async () => {
  const { rest, calls, slow } = await startPrivateRedis();
  const policy = (consistency: string) => ({
    name: uniqueName(consistency),
    match: { path: `/${consistency}` },
    limits: [{ limit: LIMIT, window: `${WINDOW_MS}ms`, buckets: 10 }],
    consistency,
    // Without an answer from Redis, deny: what a slow machine admits by fallback would not come from leases.
    onStoreFailure: "deny",
  });
  const policies = [policy("strict"), policy("leased")];
  const gateways = await Promise.all(
    REGIONS.map((REGION) => startGateway({ redis: rest, policies, vars: { REGION } })),
  );
  const { send, pace } = startTraffic();
  // Build all Workers first, with requests of a client that is not counted below.
  const paths = ["/strict", "/leased"];
  await Promise.all(gateways.flatMap((gateway) => paths.map((path) => send(gateway, path, "192.0.2.9"))));
  slow(ONE_WAY_MS);

  const measure = async (path: string) => {
    // Units leave the window with their bucket, at whole seconds. The limit is reached 2 s after the start, so start a
    // quarter of a second after a whole second.
    const startMs = (await nextSecond()) + QUARTER_MS;
    await sleep(QUARTER_MS);
    const callsBefore = calls.length;
    const sent = await pace({ count: REQUESTS, overMs: OVER_MS, most: MOST_OPEN }, (i) =>
      send(gateways[i % gateways.length]!, path),
    );
    const admitted = sent.filter(({ status }) => status === 200);
    return {
      admitted: admitted.length,
      // Count only one window: later the first units have left it, and a machine too slow for the pace admits more.
      admittedInWindow: admitted.filter(({ answeredAtMs }) => answeredAtMs < startMs - QUARTER_MS + WINDOW_MS).length,
      calls: calls.length - callsBefore,
    };
  };
  const strict = await measure("/strict");
  const leased = await measure("/leased");

  expect(strict.admittedInWindow).toBeLessThanOrEqual(LIMIT);
  expect(leased.admittedInWindow).toBeLessThanOrEqual(LIMIT);
  expect(leased.admitted).toBeGreaterThanOrEqual(0.97 * LIMIT);
  expect(leased.calls).toBeLessThanOrEqual(strict.calls / 4);
});
