// What a gateway answers from memory, without asking Redis: refusals that Redis would have given too.

import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

it("answers a client that goes on after its refusal without a call to Redis, with the same fields", async () => {
  const { rest, calls } = await startPrivateRedis();
  const name = uniqueName("hammered");
  const gateway = await startGateway({ redis: rest, policies: [{ name, limits: [{ limit: 3, window: "1h" }] }] });
  for (let i = 0; i < 3; i++) expect((await gateway.fetch("/")).status).toBe(200);
  calls.length = 0;

  const refusals = await Promise.all(Array.from({ length: 100 }, () => gateway.fetch("/")));

  expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([429]));
  expect(calls).toEqual([]);
  const { states, retryAfter } = fieldsOf(refusals[0]!);
  expect(states).toMatchObject({ [name]: { r: 0 } });
  // The two-bucket counter admits again when the hour's 3 units have decayed by 1 unit. That takes at least a third of
  // an hour after the hour's end.
  expect(retryAfter).toBeGreaterThanOrEqual(1200);
  expect(retryAfter).toBe(states?.[name]?.t);
});

it("goes on asking for a client that another region has not used up, and for other clients", async () => {
  const { rest, calls } = await startPrivateRedis();
  const policies = [{ name: uniqueName("shared"), limits: [{ limit: 2, window: "1h" }] }];
  const gateway = await startGateway({ redis: rest, policies });
  for (let i = 0; i < 3; i++) await gateway.fetch("/");
  calls.length = 0;

  expect((await gateway.fetch("/", { address: "192.0.2.2" })).status).toBe(200);
  expect(calls).toEqual(["evalsha"]);
});

it("lets a smaller cost through after a larger one was refused", async () => {
  const { rest } = await startPrivateRedis();
  const policy = {
    name: uniqueName("costs"),
    limits: [{ limit: 5, window: "1h" }],
    cost: [{ path: "/large", cost: 4 }],
  };
  const gateway = await startGateway({ redis: rest, policies: [policy] });

  const statuses: number[] = [];
  for (const path of ["/large", "/large", "/large", "/small", "/small"])
    statuses.push((await gateway.fetch(path)).status);

  expect(statuses).toEqual([200, 429, 429, 200, 429]);
});

it("forgets after 5 s without a reply that a limit was used up: a reset shows", async () => {
  const { redis, rest } = await startPrivateRedis();
  const name = uniqueName("reset");
  const gateway = await startGateway({ redis: rest, policies: [{ name, limits: [{ limit: 1, window: "1h" }] }] });
  await gateway.fetch("/");
  expect((await gateway.fetch("/")).status).toBe(429);

  await redis.del(...(await redis.keys(`hg:2:{${name}:*`)));
  const admitted = await expect.poll(async () => (await gateway.fetch("/")).status, { timeout: 8_000, interval: 250 });
  await admitted.toBe(200);
});
