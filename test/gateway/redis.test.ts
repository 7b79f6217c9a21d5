// What a gateway leaves in Redis.

import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

it("leaves keys that begin with the storage version, expire, and show nothing of the client", async () => {
  const { redis, rest, isPrivate } = await startPrivateRedis();
  const name = uniqueName("keys");
  const secrets = [
    "203.0.113.77",
    "2001:db8:aaaa:bbbb",
    "alice-s3cret",
    "t0ken-of-alice",
    "c00kie-of-alice",
    "qu3ry-of-alice",
  ];
  const policies = ["ip", "bearer", "header:x-user", "cookie:sid", "query:user", "ip+bearer"].map((key, i) => ({
    name: `${name}-${i}`,
    key: [key],
    limits: [
      { limit: 5, window: "1h" },
      { limit: 5, window: "1d", scope: "region" },
    ],
  }));
  const gateway = await startGateway({ redis: rest, policies, vars: { REGION: "eu" } });
  const headers = { Authorization: `Bearer ${secrets[3]}`, "X-User": secrets[2]!, Cookie: `sid=${secrets[4]}` };
  for (const address of [secrets[0]!, `${secrets[1]}::1`]) {
    for (let i = 0; i < 3; i++) await gateway.fetch(`/?user=${secrets[5]}`, { address, headers });
  }

  // The first address makes 12 keys: two for each of six policies. The second address makes 4: only two policies count
  // by address, and alice's other keys are the same ones.
  const keys = await redis.keys(`*${name}*`);
  expect(keys).toHaveLength(16);
  if (isPrivate) expect(await redis.dbsize()).toBe(keys.length);
  for (const key of keys) {
    expect(key).toMatch(/^hg:2:\{keys-[0-9a-f]{12}-\d:[\w-]{22}\}(:eu)?$/);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    const value = (await redis.getBuffer(key))!.toString("latin1");
    for (const secret of secrets) expect(key + value).not.toContain(secret);
  }
  // A line may come after the answer.
  await expect.poll(() => gateway.logs.join(), { timeout: 20_000 }).toContain("refused");
  for (const secret of secrets) expect(gateway.logs.join()).not.toContain(secret);
});
