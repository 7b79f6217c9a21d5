// A region's own Redis: what counts in that region is decided there, without a call to the shared one.

import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { nodeBindings } from "../support/gateway/nodes.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

it("decides what counts in the region without a call to the Redis of all regions", async () => {
  const [shared, eu] = await Promise.all([startPrivateRedis(), startPrivateRedis()]);
  const window = "31d";
  const nearby = {
    name: uniqueName("nearby"),
    match: { path: "/nearby" },
    limits: [{ limit: 1_000, window, scope: "region" }],
  };
  const both = {
    name: uniqueName("both"),
    match: { path: ["/both", "/look"] },
    cost: [{ path: "/look", cost: 0 }],
    limits: [
      { limit: 30, window },
      { limit: 20, window, scope: "region" },
    ],
  };
  const vars = nodeBindings({ "eu-1": { ...eu.rest, region: "eu" }, shared: shared.rest });
  const start = (region: string) =>
    startGateway({ redis: null, policies: [nearby, both], vars: { ...vars, REGION: region } });
  const [inEurope, inAmerica] = await Promise.all([start("eu"), start("na")]);
  /** The number of calls to the shared Redis and to that of Europe since the last time. */
  const calls = () => [shared, eu].map(({ calls }) => calls.splice(0).length);
  const ask = async (gateway: typeof inEurope, path: string) => {
    const answer = await gateway.fetch(path);
    await answer.arrayBuffer();
    expect([answer.status, fieldsOf(answer).states]).toEqual([200, expect.anything()]);
  };
  // A Redis that meets the script for the first time is called twice.
  for (const gateway of [inEurope, inAmerica]) await ask(gateway, "/look");
  calls();

  for (let i = 0; i < 10; i++) await ask(inEurope, "/nearby");
  expect(calls()).toEqual([0, 10]);
  for (let i = 0; i < 10; i++) await ask(inAmerica, "/nearby");
  expect(calls()).toEqual([10, 0]);
  await ask(inEurope, "/both");
  expect(calls()).toEqual([1, 1]);
  await ask(inAmerica, "/both");
  expect(calls()).toEqual([1, 0]);
});
