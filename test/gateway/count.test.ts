// A status that nobody learned, over a real origin. test/features/count has every order of failures and successes.

import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw } from "../support/gateway/raw.ts";

it.each(["failures", "successes"])("stays charged under %s: the client leaves an origin that hangs", async (count) => {
  const arrived: (() => void)[] = [];
  const origin = await startOrigin((_request, response) => void arrived.push(() => response.destroy()));
  const limits = [{ algorithm: "fixed-window", limit: 2, window: "31d" }];
  const gateway = await startGateway({
    policies: [{ name: uniqueName("login"), count, key: ["global"], limits }],
    vars: { ORIGIN_URL: origin.url },
  });
  for (let i = 1; i <= 2; i++) {
    const client = openRaw(gateway, "GET /login HTTP/1.1");
    await expect.poll(() => arrived.length, { timeout: 20_000 }).toBe(i);
    client.resetAndDestroy();
  }
  expect((await gateway.fetch("/login")).status).toBe(429);
  for (const end of arrived) end();
  expect((await gateway.fetch("/login")).status).toBe(429);
});
