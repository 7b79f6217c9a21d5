// consistency = "shared" with real parts: gateways in workerd, and a Redis that holds its answers back.

import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

it("answers while Redis holds its answers back, and tells it once they come", async () => {
  const { rest, calls, hold } = await startPrivateRedis();
  const policies = [{ name: uniqueName("shared"), consistency: "shared", limits: [{ limit: 10, window: "1h" }] }];
  const [one, other] = await Promise.all([0, 1].map(() => startGateway({ redis: rest, policies })));
  const release = hold();
  const answers: Response[] = [];
  for (let n = 0; n < 15; n++) answers.push(await one!.fetch("/"));
  // No answer of Redis has come until now.
  release();
  expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(200), ...Array(5).fill(429)]);
  for (const answer of answers.slice(10)) {
    expect(Number(answer.headers.get("Retry-After"))).toBeGreaterThanOrEqual(1);
    expect(answer.headers.get("RateLimit")).toMatch(/;r=0;t=\d+$/);
  }

  // Real time: workerd's timer lets the gateway tell the rest after its `sync`, without a further request.
  await expect.poll(() => calls.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(2);
  const told = async () => (await other!.fetch("/")).status === 429;
  // The first request here is counted alone; the reply to what it tells shows that nothing is left.
  await expect.poll(told, { timeout: 10_000, interval: 100 }).toBe(true);
});
