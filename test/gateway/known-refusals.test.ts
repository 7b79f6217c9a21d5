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
