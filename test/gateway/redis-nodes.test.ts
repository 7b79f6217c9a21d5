// Counts in three Redis: four gateways keep limits whose keys lie in different ones.

import { expect, it } from "vitest";
import { rendezvous } from "../../src/stores/rendezvous.ts";
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

it("charges a request with an id once, and forgets the id if another node refuses the request", async () => {
  const redis = await Promise.all(NODES.map(() => startPrivateRedis()));
  const limits = [{ limit: 10, window: WINDOW }];
  const cost = [{ path: LOOK, cost: 0 }];
  const named = {
    ...{ name: await nameOn("a", NODES), key: ["global"], limits, cost },
    ...{ once: "header:idempotency-key", repeats: 1 },
  };
  const strict = { name: await nameOn("b", NODES), key: ["global"], limits: [{ limit: 3, window: WINDOW }], cost };
  const vars = nodeBindings(Object.fromEntries(NODES.map((name, i) => [name, redis[i]!.rest])));
  const policies = [named, strict];
  const gateways = await Promise.all(NODES.map(() => startGateway({ redis: null, policies, vars })));
  let asked = 0;
  const ask = async (id: string) => {
    const gateway = gateways[asked++ % gateways.length]!;
    return (await gateway.fetch("/", { headers: { "Idempotency-Key": id } })).status;
  };
  const left = () => leftOf(gateways[0]!, LOOK, "192.0.2.1");

  // The policy without ids charges the repeat too.
  expect([await ask("x"), await ask("x")]).toEqual([200, 200]);
  expect(await left()).toEqual({ [named.name]: 9, [strict.name]: 1 });
  expect([await ask("y"), await ask("y"), await ask("z")]).toEqual([200, 429, 429]);
  // What is undone is undone after the answer: neither the repeat nor the new request has left a trace.
  await expect.poll(left, PATIENCE).toEqual({ [named.name]: 8, [strict.name]: 0 });
  const ids = async () => (await redis[0]!.redis.keys("*!*")).length;
  await expect.poll(ids, PATIENCE).toBe(2);
  // The node that has refused begins anew. A gateway may remember its refusals for a second.
  await redis[1]!.redis.flushall();
  const untilAdmitted = (id: string) => expect.poll(() => ask(id), PATIENCE).toBe(200);
  await untilAdmitted("y");
  await expect.poll(left, PATIENCE).toEqual({ [named.name]: 8, [strict.name]: 2 });
  for (const id of ["z", "y"]) await untilAdmitted(id);
  await expect.poll(left, PATIENCE).toEqual({ [named.name]: 6, [strict.name]: 0 });
});
