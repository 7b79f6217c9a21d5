// The health page from outside. Several requests wait for one PING, which another request has sent.

import { expect, it } from "vitest";
import { startGateway } from "../support/gateway/gateway.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const HEALTH = "/.headgate/health";
const POLICIES = [{ name: "site", limits: [{ limit: 1, window: "1h" }] }];

it("those that wait are answered although the client of the PING goes away", async () => {
  const { rest, calls, slow } = await startPrivateRedis();
  const gateway = await startGateway({ policies: POLICIES, redis: rest });
  slow(100);
  const leaving = new AbortController();
  const first = gateway.fetch(HEALTH, { signal: leaving.signal });
  await expect.poll(() => calls.length, { interval: 5 }).toBe(1);
  const others = [gateway.fetch(HEALTH), gateway.fetch(HEALTH)];
  leaving.abort();
  await expect(first).rejects.toThrow();
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200]);
  expect(calls).toEqual(["ping", "info"]);
});
