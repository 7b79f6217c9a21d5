// What an operator sees when the breaker stops calling the store, and what clients notice of it.

import { expect, it } from "vitest";
import { startFaultyGateway } from "../../support/faults/fault-story.ts";
import { uniqueName } from "../../support/gateway/gateway.ts";

const limits = [{ limit: 1_000, window: "1d" }];

it("one line when the breaker opens and one when it closes, and the same in health", async () => {
  const { rig, gateway } = await startFaultyGateway([{ name: uniqueName("line"), limits }], 5_000);
  const health = async () => (await gateway.fetch("/.headgate/health")).json();
  const changes = () =>
    gateway.logs.flatMap((line) => (line.includes('"event":"breaker"') ? [JSON.parse(line) as object] : []));
  expect(await health()).toMatchObject({ status: "ok", redis: { reachable: true, breaker: "closed" } });

  // Redis still answers a ping. Only its writes fail.
  await rig.begin("readonly");
  for (let i = 0; i < 20; i++) expect((await gateway.fetch("/")).status).toBe(200);
  expect(await health()).toMatchObject({ status: "degraded", redis: { reachable: true, breaker: "open" } });
  await rig.end();
  await expect
    .poll(async () => (await gateway.fetch("/")).headers.has("RateLimit"), { timeout: 10_000, interval: 50 })
    .toBe(true);

  expect(await health()).toMatchObject({ status: "ok", redis: { breaker: "closed" } });
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(changes()).toEqual([
    { event: "breaker", at, state: "open", failure: "REDIS", redis: "READONLY" },
    { event: "breaker", at, state: "closed" },
  ]);
});
