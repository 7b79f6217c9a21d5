// Requests that are sent again with the same id, through three gateways over one Redis. scripts/stress/repeats.ts does
// it with 10,000 requests.

import { expect, it, onTestFinished } from "vitest";
import type { CallProxy } from "../../support/faults/call-proxy.ts";
import {
  BUDGET_MS,
  LIMIT,
  policyOf,
  type Sent,
  send,
  sendWithRepeats,
  startRepeatProxy,
} from "../../support/faults/repeated-requests.ts";
import { startGateway, uniqueName } from "../../support/gateway/gateway.ts";
import { startPrivateRedis } from "../../support/redis/private-redis.ts";

async function startGateways(vars: object = {}) {
  const { rest } = await startPrivateRedis();
  const policies = [policyOf(uniqueName("once"))];
  const proxies: CallProxy[] = [];
  const urls: URL[] = [];
  for (const seed of [1, 2, 3]) {
    const proxy = await startRepeatProxy(rest.url, seed);
    onTestFinished(() => proxy.close());
    proxies.push(proxy);
    const redis = { url: proxy.url, token: rest.token };
    urls.push((await startGateway({ redis, policies, vars: { KEY_SECRET: "the same in all of them", ...vars } })).url);
  }
  return { proxies, urls };
}

it("charges each id once, although answers of Redis are lost, late, or never come", async () => {
  const { proxies, urls } = await startGateways({ REDIS_TIMEOUT_MS: BUDGET_MS });
  const told = await sendWithRepeats(urls, proxies, { requests: 600, seed: 1 });
  expect(told).toMatchObject({ sent: 600, unexpected: 0, wrong: [], charged: told.reached });
  expect(told.repeats).toBeGreaterThan(100);
  expect(told.faults).toBeGreaterThan(10);
  // The others were admitted without Redis.
  expect(told.reached).toBeGreaterThan(50);
});

it("charges what is beyond the repeats, and what is another request", async () => {
  const { proxies, urls } = await startGateways();
  let asked = 0;
  /** The units that a request has cost. */
  const cost = async (sent: Sent) => {
    const left = async () => (await send(urls[0]!, { client: sent.client, path: "/look" })).remaining!;
    const before = await left();
    expect((await send(urls[asked++ % 3]!, sent)).status).toBe(200);
    return before - (await left());
  };
  const first = { client: "ann", id: "id" };
  const costs = [];
  for (let i = 0; i < 10; i++) costs.push(await cost(first));
  expect(costs).toEqual([1, 0, 0, 1, 1, 1, 1, 1, 1, 1]);

  const others: Sent[] = [
    { ...first, client: "bob" },
    { ...first, path: "/b" },
    { ...first, method: "POST" },
    { ...first, id: "other" },
    { client: "ann" },
  ];
  for (const other of others) expect([other, await cost(other)]).toEqual([other, 1]);
  // The same request in another spelling of its path is the same.
  expect(await cost({ ...first, id: "other", path: "/A/../%61?page=2" })).toBe(0);
  expect(await cost({ client: "ann" })).toBe(1);

  // An hour later by Redis's clock.
  const [once, ahead] = [
    { ...first, client: "eve" },
    (ms: number) => Promise.all(proxies.map((one) => Object.assign(one, { aheadMs: ms }))),
  ];
  ahead(1);
  expect([await cost(once), await cost(once)]).toEqual([1, 0]);
  ahead(3_600_000 - 60_000);
  expect(await cost(once)).toBe(0);
  ahead(3_600_000 + 60_000);
  expect([await cost(once), await cost(once), LIMIT]).toEqual([1, 0, 1_000_000]);
});
