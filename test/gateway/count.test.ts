// A status that nobody learned, over a real origin. test/features/count has every order of failures and successes.

import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw } from "../support/gateway/raw.ts";

async function startTwo(count: string, answer: Parameters<typeof startOrigin>[0]) {
  const limits = [{ algorithm: "fixed-window", limit: 2, window: "31d" }];
  return await startGateway({
    policies: [{ name: uniqueName("login"), count, key: ["global"], limits }],
    vars: { ORIGIN_URL: (await startOrigin(answer)).url },
  });
}

it.each(["failures", "successes"])("stays charged under %s: the client leaves an origin that hangs", async (count) => {
  const arrived: (() => void)[] = [];
  const gateway = await startTwo(count, (_request, response) => void arrived.push(() => response.destroy()));
  for (let i = 1; i <= 2; i++) {
    const client = openRaw(gateway, "GET /login HTTP/1.1");
    await expect.poll(() => arrived.length, { timeout: 20_000 }).toBe(i);
    client.resetAndDestroy();
  }
  expect((await gateway.fetch("/login")).status).toBe(429);
  for (const end of arrived) end();
  expect((await gateway.fetch("/login")).status).toBe(429);
});

it.each(["failures", "successes"])("stays charged under %s: the origin hangs up, and we answer 502", async (count) => {
  const gateway = await startTwo(count, (request) => void request.socket.destroy());
  for (const status of [502, 502, 429]) expect((await gateway.fetch("/login")).status).toBe(status);
});
