// The leaky bucket holds a request that comes too early. The ways in (test/adapters) have when it goes on.

import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw } from "../support/gateway/raw.ts";
import { sharedRedis } from "../support/redis/shared-redis.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

// The request of a client that only closes its side goes to the origin after its delay.
it("does not ask the origin for a client that resets its connection while it is held, and frees its slot at once", async () => {
  const origin = await startOrigin((_request, response) => response.end());
  const name = uniqueName("reset");
  const redis = sharedRedis();
  const slots = watchSlots(name, redis);
  // A busy machine needs more than a second until workerd has noticed the reset. The request is held for 3 s.
  const limits = [{ algorithm: "leaky-bucket", limit: 1, window: "3s", burst: 1, maxDelay: "10s" }, atATime(2)];
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
