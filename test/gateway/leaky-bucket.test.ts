// The leaky bucket holds requests that come too early.

import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw } from "../support/gateway/raw.ts";
import { sharedRedis } from "../support/redis/shared-redis.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

const INTERVAL_MS = 100;
const leaky = { algorithm: "leaky-bucket", limit: 10, window: "1s", burst: 1, maxDelay: "300ms" };

it("spaces requests that come at once, and refuses those that would wait longer than maxDelay", async () => {
  const arrivedAtMs: number[] = [];
  const origin = await startOrigin((_request, response) => {
    arrivedAtMs.push(performance.now());
    response.end();
  });
  const name = uniqueName("leaky");
  const gateway = await startGateway({
    policies: [{ name, key: ["global"], limits: [leaky] }],
    vars: { ORIGIN_URL: origin.url },
  });

  const startedAtMs = performance.now();
  const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.fetch("/")));

  // One request passes at once, and three wait 100, 200 and 300 ms. A busy machine takes longer to send all requests:
  // one more passes for each interval of that time.
  const admitted = answers.filter(({ status }) => status === 200);
  expect(admitted.length).toBeGreaterThanOrEqual(4);
  expect(arrivedAtMs).toHaveLength(admitted.length);
  // Redis's clock counts whole milliseconds, so the first request may have come up to 1 ms earlier than it seems.
  for (const [i, atMs] of arrivedAtMs.entries()) {
    expect(atMs - startedAtMs).toBeGreaterThanOrEqual(i * INTERVAL_MS - 1);
  }
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThanOrEqual(1);
  for (const answer of refused) {
    const { policies, states, retryAfter } = fieldsOf(answer);
    expect([answer.status, policies, retryAfter]).toEqual([429, { [name]: { q: 1 } }, 1]);
    expect(states).toEqual({ [name]: { r: 0, t: 1 } });
  }
});

// The request of a client that only closes its side goes to the origin after its delay.
it("does not ask the origin for a client that resets its connection while it is held, and frees its slot at once", async () => {
  const origin = await startOrigin((_request, response) => response.end());
  const name = uniqueName("reset");
  const redis = sharedRedis();
  const slots = watchSlots(name, redis);
  // A busy machine needs more than a second until workerd has noticed the reset. The request is held for 3 s.
  const limits = [{ ...leaky, limit: 1, window: "3s", maxDelay: "10s" }, atATime(2)];
  const gateway = await startGateway({
    policies: [{ name, key: ["global"], limits }],
    vars: { ORIGIN_URL: origin.url },
  });
  expect((await gateway.fetch("/first")).status).toBe(200);
  await slots.free();

  const [key] = await redis.keys(`hg:2:{${name}:*}`);
  const bucket = () => redis.getBuffer(key!);
  const before = await bucket();
  const client = openRaw(gateway, "GET /held HTTP/1.1");
  await expect.poll(bucket, { timeout: 30_000, interval: 10 }).not.toEqual(before);
  expect(await slots.held()).toBe(1);
  client.resetAndDestroy();
  await slots.free();
  const last = await gateway.fetch("/last");

  expect(last.status).toBe(200);
  expect(origin.requests.map(({ url }) => url)).toEqual(["/first", "/last"]);
});
