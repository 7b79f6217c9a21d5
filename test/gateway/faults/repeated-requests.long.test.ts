// Requests that are sent again with the same id, through three gateways over one Redis. scripts/stress/repeats.ts does
// it with 10,000 requests.

import { expect, it, onTestFinished } from "vitest";
import type { CallProxy } from "../../support/faults/call-proxy.ts";
import { BUDGET_MS, policyOf, sendWithRepeats, startRepeatProxy } from "../../support/faults/repeated-requests.ts";
import { startGateway, uniqueName } from "../../support/gateway/gateway.ts";
import { startPrivateRedis } from "../../support/redis/private-redis.ts";

it("charges each id once, although answers of Redis are lost, late, or never come", async () => {
  const { rest } = await startPrivateRedis();
  const policies = [policyOf(uniqueName("once"))];
  const vars = { KEY_SECRET: "the same in all of them", REDIS_TIMEOUT_MS: BUDGET_MS };
  const proxies: CallProxy[] = [];
  const urls: URL[] = [];
  for (const seed of [1, 2, 3]) {
    const proxy = await startRepeatProxy(rest.url, seed);
    onTestFinished(() => proxy.close());
    proxies.push(proxy);
    const redis = { url: proxy.url, token: rest.token };
    urls.push((await startGateway({ redis, policies, vars })).url);
  }
  const told = await sendWithRepeats(urls, proxies, { requests: 600, seed: 1 });
  expect(told).toMatchObject({ sent: 600, unexpected: 0, wrong: [], charged: told.reached });
  expect(told.repeats).toBeGreaterThan(100);
  expect(told.faults).toBeGreaterThan(10);
  // The others were admitted without Redis.
  expect(told.reached).toBeGreaterThan(50);
});
