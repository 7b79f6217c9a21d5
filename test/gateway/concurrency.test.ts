// Slots: the origin never has more requests at a time than the limit, whatever regions they come from, and a request's
// slot is free again, however the request ends.

import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { type GatewayOptions, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startHeldOrigin } from "../support/gateway/held-origin.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw, sendRaw } from "../support/gateway/raw.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";
import { startSlowRedis } from "../support/redis/slow-redis.ts";

const LIMIT = 5;
const CLIENTS = 50;

/** Starts gateways in two regions on one Redis. */
async function startGateways(originUrl: string) {
  const name = uniqueName("concurrency");
  const policies = [{ name, key: ["global"], limits: [atATime(LIMIT)] }];
  const gateways = await Promise.all(
    ["eu", "na"].map((region) => startGateway({ policies, vars: { ORIGIN_URL: originUrl, REGION: region } })),
  );
  return { name, slots: watchSlots(name), fetch: (client: number) => gateways[client % gateways.length]!.fetch("/") };
}

it("of 50 clients at once in two regions admits five, and five again when their answers have ended", async () => {
  const origin = await startHeldOrigin();
  const { name, slots, fetch } = await startGateways(origin.url);

  for (const round of [1, 2]) {
    const answers = await Promise.all(Array.from({ length: CLIENTS }, (_, client) => fetch(client)));
    const admitted = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 429);
    expect([admitted.length, refused.length]).toEqual([LIMIT, CLIENTS - LIMIT]);
    expect([origin.inFlight, origin.peak, origin.requests.length]).toEqual([LIMIT, LIMIT, LIMIT * round]);
    expect(await slots.held()).toBe(LIMIT);
    for (const answer of refused) {
      const { policies, states, retryAfter } = fieldsOf(answer);
      expect(policies).toEqual({ [name]: { q: LIMIT, qu: "concurrent-requests" } });
      expect([states, retryAfter]).toEqual([{ [name]: { r: 0 } }, 1]);
      expect(await answer.json()).toMatchObject({
        "violated-policies": [name],
        detail: expect.stringContaining(`${name} (${LIMIT} at a time in all regions)`),
      });
    }
    // Each answer's `remaining` counts the slot that its own request took.
    const left = admitted.map((answer) => fieldsOf(answer).states![name]!.r as number);
    expect(left.sort()).toEqual([0, 1, 2, 3, 4]);

    origin.end();
    for (const answer of admitted) expect(await answer.text()).toBe("firstlast");
    await slots.free();
  }
});

/** The limit is one request at a time: a slot that was not released would refuse the next request. */
async function startGatewayOf(originUrl: string, options: Partial<GatewayOptions> = {}) {
  const name = uniqueName("slots");
  const policies = [{ name, match: { path: "/" }, key: ["global"], limits: [atATime(1)] }];
  const gateway = await startGateway({ policies, vars: { ORIGIN_URL: originUrl }, ...options });
  return { gateway, slots: watchSlots(name) };
}

describe("the slot of a client that resets its connection is free", () => {
  it.each([
    ["in the middle of a body with a length", { "Content-Length": 10 }],
    ["in the middle of a body without one", {}],
  ])("%s, and the origin hears of it", async (_, headers) => {
    const closed = Promise.withResolvers<void>();
    const origin = await startOrigin((_request, response) => {
      response.on("close", () => closed.resolve());
      response.writeHead(200, headers).write("first");
    });
    const { gateway, slots } = await startGatewayOf(origin.url);

    const client = openRaw(gateway, "GET / HTTP/1.1");
    await once(client, "data");
    expect(await slots.held()).toBe(1);
    client.resetAndDestroy();

    await Promise.all([slots.free(), closed.promise]);
    // Many clients that go away must not cause many log lines.
    expect(gateway.logs).toEqual([]);
  });

  it("while Redis is still answering, and the origin is not asked", async () => {
    const [arrived, noticed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const origin = await startOrigin((_request, response) => {
      response.on("close", () => noticed.resolve());
      arrived.resolve();
    });
    const redis = await startSlowRedis();
    const { gateway, slots } = await startGatewayOf(origin.url, { redis: redis.rest });

    const client = openRaw(gateway, "GET / HTTP/1.1");
    await redis.done;
    expect(await slots.held()).toBe(1);
    // Nothing shows when workerd has noticed this reset. A later reset of a request without limits shows it: the origin
    // sees that connection close.
    const later = openRaw(gateway, "GET /free HTTP/1.1");
    await arrived.promise;
    client.resetAndDestroy();
    later.resetAndDestroy();
    await noticed.promise;
    redis.answer();

    await slots.free();
    expect(origin.requests.map(({ url }) => url)).toEqual(["/free"]);
  });
});

it("a body keeps its length on its way, and a compressed one its bytes", async () => {
  const packed = gzipSync("hello ".repeat(1000), { level: 1 });
  const encodings = [{}, { "Content-Encoding": "gzip" }];
  const origin = await startOrigin((_request, response) => {
    response.writeHead(200, { "Content-Length": packed.length, ...encodings.shift() }).end(packed);
  });
  const { gateway, slots } = await startGatewayOf(origin.url);

  for (const encoding of ["identity", "gzip"]) {
    const { headers, body } = await sendRaw(gateway, { headers: { "Accept-Encoding": encoding } });
    const kept = encoding === "gzip" ? headers["content-encoding"] : headers["content-length"];
    expect(kept).toBe(encoding === "gzip" ? "gzip" : String(packed.length));
    expect((await body).equals(packed)).toBe(true);
    await slots.free();
  }
});
