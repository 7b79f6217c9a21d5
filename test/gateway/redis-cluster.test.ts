// A real Redis Cluster of three masters: the keys of one request lie in several of its slots.

import { afterAll, beforeAll, expect, it } from "vitest";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { admitsExactly, leftOf, PATIENCE } from "../support/gateway/until-full.ts";
import { type RedisCluster, startRedisCluster } from "../support/redis/cluster.ts";

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
}, 60_000);
afterAll(() => cluster.stop());

const WINDOW = "31d";
const LOOK = "/look";

function policy(name: string, key: string, limit: number, more: object = {}) {
  const limits = [{ limit, window: WINDOW }] as const;
  return { name: uniqueName(name), key: [key], limits, cost: [{ path: LOOK, cost: 0 }], ...more };
}

const start = (policies: readonly object[], count: number, vars = {}): Promise<Gateway[]> =>
  Promise.all(Array.from({ length: count }, () => startGateway({ policies, redis: cluster.rest, vars })));

it.each(["strict", "leased"])("%s: two gateways admit exactly the limits of three policies", async (consistency) => {
  // Leases last a twentieth of a window, at most 5 s: with a shorter window their units are back sooner.
  const time = consistency === "leased" ? { window: "40s", buckets: 40, oldest: "whole" } : { window: WINDOW };
  const of = (limit: number) => ({ consistency, limits: [{ limit, ...time }] });
  const [site, client] = [policy("site", "global", 60, of(60)), policy("client", "ip", 20, of(20))];
  const host = policy("host", "host", 1_000, {
    consistency,
    limits: [
      { limit: 1_000, window: WINDOW },
      { limit: 999, window: "1d" },
    ],
  });
  const gateways = await start([site, client, host], 2);
  const to = (address: string, each: number) => () =>
    gateways.flatMap((gateway) => Array.from({ length: each }, () => gateway.fetch("/", { address })));

  await admitsExactly(20, to("198.51.100.1", 20));
  // The others use up what is left for all: what the first client was refused has cost nothing.
  const others = ["198.51.100.2", "198.51.100.3", "198.51.100.4"];
  await admitsExactly(40, () => others.flatMap((address) => to(address, 10)()));

  // Leases hold some units of limits that are far from used up, for some seconds more.
  if (consistency === "leased") return;
  const left = async (address: string) => await leftOf(gateways[0]!, LOOK, address);
  const clients = async () => Promise.all(others.map(async (address) => (await left(address))[client.name]!));
  await expect.poll(async () => (await clients()).reduce((sum, one) => sum + one), PATIENCE).toBe(3 * 20 - 40);
  await expect
    .poll(() => left("198.51.100.1"), PATIENCE)
    .toEqual({
      [site.name]: 0,
      [client.name]: 0,
      [`${host.name}-1`]: 1_000 - 60,
      [`${host.name}-2`]: 999 - 60,
    });
});
