// Counts in three Redis: four gateways keep limits whose keys lie in different ones.

import { expect, it } from "vitest";
import { rendezvous } from "../../src/limiter/stores/rendezvous.ts";
import { startGateway } from "../support/gateway/gateway.ts";
import { nameOn, nodeBindings } from "../support/gateway/nodes.ts";
import { admitsExactly, leftOf, PATIENCE } from "../support/gateway/until-full.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const NODES = ["a", "b", "c"];
const WINDOW = "31d";
const LOOK = "/look";
const CLIENTS = Array.from({ length: 12 }, (_, i) => `198.51.100.${i}`);
const ip = (address: string) => ({ kind: "ip", values: [address] });

it("admits exactly the limit of every policy, over all gateways, and refused requests cost nothing", async () => {
  const redis = await Promise.all(NODES.map(() => startPrivateRedis()));
  const cost = [{ path: LOOK, cost: 0 }];
  const site = { name: await nameOn("a", NODES), key: ["global"], limits: [{ limit: 100, window: WINDOW }], cost };
  const page = {
    name: await nameOn("b", NODES),
    key: ["global"],
    match: { path: ["/page", LOOK] },
    limits: [
      { algorithm: "sliding-log", limit: 25, window: WINDOW },
      { limit: 1_000, window: WINDOW },
    ],
    cost,
  };
  const client = {
    name: await nameOn("c", NODES, ip(CLIENTS[0]!)),
    key: ["ip"],
    limits: [{ limit: 20, window: WINDOW }],
    cost,
  };
  const vars = nodeBindings(Object.fromEntries(NODES.map((name, i) => [name, redis[i]!.rest])));
  const gateways = await Promise.all(
    NODES.concat("fourth").map(() => startGateway({ redis: null, policies: [site, page, client], vars })),
  );
  const burst = (path: string, addresses: readonly string[], each: number) => () =>
    gateways.flatMap((gateway) =>
      addresses.flatMap((address) => Array.from({ length: each }, () => gateway.fetch(path, { address }))),
    );
  // 20 by a client whose keys lie in all nodes, then 5 more on the page by the others, and the rest elsewhere.
  await admitsExactly(20, burst("/page", CLIENTS.slice(0, 1), 10));
  await admitsExactly(5, burst("/page", CLIENTS.slice(1), 1));
  await admitsExactly(75, burst("/", CLIENTS.slice(1), 3));

  const left = (address: string) => leftOf(gateways[0]!, LOOK, address);
  const clientsLeft = async () => {
    const all = await Promise.all(CLIENTS.map(async (address) => (await left(address))[client.name]!));
    return all.reduce((sum, one) => sum + one);
  };
  await expect.poll(clientsLeft, PATIENCE).toBe(CLIENTS.length * 20 - 100);
  await expect
    .poll(() => left(CLIENTS[0]!), PATIENCE)
    .toEqual({ [site.name]: 0, [`${page.name}-1`]: 0, [`${page.name}-2`]: 1_000 - 25, [client.name]: 0 });

  // Every key lies in the node that its name says.
  const found = await Promise.all(redis.map(async (one) => (await one.redis.keys("*")).map(rendezvous(NODES))));
  expect(found.map((places) => [...new Set(places)])).toEqual([[0], [1], [2]]);
});
