// Gateways over several Durable Objects: where keys lie, and that limits over keys in several objects are exact.

import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { rendezvous } from "../../src/stores/rendezvous.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Ask, COUNTS, gatewayWith, NO_REDIS, uniqueName } from "./support.ts";

/** As docs/storage-schema.md names the objects. */
const OBJECTS = ["headgate:counts", "headgate:counts:1", "headgate:counts:2", "headgate:counts:3"];
/** So many that each object gets keys of some of them. */
const CLIENTS = Array.from({ length: 80 }, (_, i) => `198.51.100.${i}`);

const gatewayOver = (shards: number, policies: readonly object[]) =>
  gatewayWith({ ...NO_REDIS, COUNTS, COUNTS_SHARDS: shards, POLICIES: policies });

/** The keys of a policy in each object. */
const keysOf = (policy: string) =>
  Promise.all(
    OBJECTS.map((name) =>
      runInDurableObject(COUNTS.getByName(name), (_, { storage }) => {
        const rows = storage.sql.exec<{ key: string }>("SELECT key FROM counts ORDER BY key").toArray();
        return rows.map(({ key }) => key).filter((key) => key.includes(`{${policy}:`));
      }),
    ),
  );

async function remaining(ask: Ask, address: string, path = "/look"): Promise<number> {
  const [state] = Object.values(fieldsOf(await ask(path, { address })).states!);
  return Number(state!.r);
}

it("keys lie where their hash says, and those of the first object keep their counts if more are added", async () => {
  const name = uniqueName("spread");
  const policies = [{ name, limits: [{ limit: 10, window: "31d" }], cost: [{ path: "/look", cost: 0 }] }];
  const [one, four] = [gatewayOver(1, policies), gatewayOver(4, policies)];
  for (const address of CLIENTS) expect(await remaining(one, address, "/")).toBe(9);
  const [first, ...others] = await keysOf(name);
  expect([first!.length, ...others]).toEqual([CLIENTS.length, [], [], []]);

  const kept = first!.filter((key) => rendezvous(OBJECTS)(key) === 0).length;
  const left = await Promise.all(CLIENTS.map((address) => remaining(four, address)));
  expect(left.filter((units) => units === 9)).toHaveLength(kept);
  expect(left.filter((units) => units === 10)).toHaveLength(CLIENTS.length - kept);

  for (const address of CLIENTS) await four("/", { address });
  for (const [at, keys] of (await keysOf(name)).entries()) {
    if (at > 0) expect(new Set(keys.map(rendezvous(OBJECTS)))).toEqual(new Set([at]));
  }
  expect((await keysOf(name)).flat().length).toBe(CLIENTS.length + (CLIENTS.length - kept));
});
