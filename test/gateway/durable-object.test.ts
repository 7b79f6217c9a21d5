// The bundled Worker with its Durable Object: several gateways over one object, and clients that go away.

import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { leftOf, PATIENCE } from "../support/gateway/until-full.ts";
import { startGateways } from "../support/objects/gateways.ts";
import { atATime } from "../support/redis/slots.ts";

/** Gateways of these names over the object of a Worker of test/worker, asked as one client. */
async function startSender(names: readonly string[], objects: string, policies: readonly object[]) {
  const urls = await startGateways(names, objects, policies);
  const headers = { "CF-Connecting-IP": "192.0.2.1" };
  return (name: string, path = "/", init: { readonly signal?: AbortSignal } = {}): Promise<Response> =>
    fetch(new URL(path, urls[name]), { ...init, headers });
}

it("two gateways over one object admit exactly the limit of 1,000 requests at once", async () => {
  const policies = [{ name: "site", limits: [{ algorithm: "sliding-log", limit: 350, window: "1h" }] }];
  const send = await startSender(["a", "b"], "counts-worker.ts", policies);
  const answers = await Promise.all(Array.from({ length: 1_000 }, (_, i) => send(i % 2 ? "a" : "b")));
  const statuses = answers.map(({ status }) => status);
  await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  expect(statuses.filter((status) => status === 200)).toHaveLength(350);
  expect(statuses.filter((status) => status === 429)).toHaveLength(650);
  for (const name of ["a", "b"]) {
    expect(await (await send(name, "/.headgate/health")).json()).toMatchObject({
      status: "ok",
      store: "durable-object",
    });
  }
}, 120_000);

it("counts a request whose client goes away before the object has answered", async () => {
  const policies = [{ name: "site", limits: [{ limit: 10, window: "1h" }] }];
  const send = await startSender(["a", "b"], "slow-counts.ts", policies);
  await (await send("a", "/.headgate/health")).json();
  const leaving = new AbortController();
  const left = send("a", "/", { signal: leaving.signal });
  const waiting = async () => (await send("counts")).json();
  await expect.poll(waiting, PATIENCE).toBe(1);
  leaving.abort();
  await expect(left).rejects.toThrow();
  const next = send("b");
  await expect.poll(waiting, PATIENCE).toBe(2);
  expect(await (await send("counts", "/begin")).json()).toBe(2);
  const answer = await next;
  await answer.arrayBuffer();
  expect(answer.headers.get("X-RateLimit-Remaining")).toBe("8");
});

it("over several objects keeps exact limits, gives slots back, and names every object in health", async () => {
  const held = new Set<ServerResponse>();
  let peak = 0;
  const origin = await startOrigin((request, response) => {
    if (request.url === "/look") return response.end();
    peak = Math.max(peak, held.add(response).size);
    response.write("first");
  });
  const [site, client] = ["site", "client"].map(uniqueName) as [string, string];
  const units = { limit: 20, window: "31d" };
  const policies = [
    { name: site, key: ["global"], limits: [units, atATime(6)], cost: [{ path: "/look", cost: 0 }] },
    { name: client, key: ["ip"], limits: [{ ...units, limit: 8 }, atATime(3)], cost: [{ path: "/look", cost: 0 }] },
  ];
  const vars = { COUNTS_SHARDS: 4, ORIGIN_URL: origin.url };
  const gateway = await startGateway({ policies, redis: null, counts: true, vars });
  const clients = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
  let admitted = 0;
  const burst = async () => {
    const answers = await Promise.all(
      clients.flatMap((address) => Array.from({ length: 5 }, () => gateway.fetch("/", { address }))),
    );
    for (const response of held) response.end("last");
    held.clear();
    for (const answer of answers) {
      await answer.arrayBuffer();
      if (answer.status === 200) admitted++;
      else expect(answer.status).toBe(429);
    }
    return admitted;
  };
  await expect.poll(burst, PATIENCE).toBeGreaterThanOrEqual(20);
  expect(await burst()).toBe(20);
  expect(peak).toBeLessThanOrEqual(6);
  const lefts = async () => {
    const all = await Promise.all(clients.map((address) => leftOf(gateway, "/look", address)));
    return [all[0]![`${site}-1`], all.reduce((sum, left) => sum + left[`${client}-1`]!, 0)];
  };
  await expect.poll(lefts, PATIENCE).toEqual([0, 3 * 8 - 20]);
  const health = await (await gateway.fetch("/.headgate/health")).json();
  const places = [0, 1, 2, 3].map((shard) => ({ name: `shard ${shard}`, reachable: true, breaker: "closed" }));
  expect(health).toMatchObject({ status: "ok", store: "durable-object", counts: { reachable: true, places } });
});
