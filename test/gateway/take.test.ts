// Programs in other languages: two gateways over one Redis, asked by a client that is made from their own document.

import { OpenAPIClientAxios } from "openapi-client-axios";
import { expect, it } from "vitest";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { type Gateway, startGateway } from "../support/gateway/gateway.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const TAKE_TOKEN = "t0ken-of-the-programs-of-these-tests";
const POLICIES = [
  {
    name: "api",
    key: ["ip"],
    limits: [
      { limit: 10, window: "1h" },
      { algorithm: "token-bucket", limit: 20, window: "1d" },
    ],
  },
  { name: "team", key: ["ip"], limits: [{ algorithm: "sliding-log", limit: 100, window: "1h" }] },
  { name: "local", key: ["ip"], limits: [{ limit: 10, window: "1h" }] },
  { name: "surely", key: ["ip"], onStoreFailure: "deny", limits: [{ limit: 10, window: "1h" }] },
];

/** A client with a method for each operation of the gateway's document. */
async function clientOf(gateway: Gateway) {
  const definition = (await (await gateway.fetch("/.headgate/openapi.json")).json()) as never;
  const axiosConfigDefaults = { headers: { Authorization: `Bearer ${TAKE_TOKEN}` }, validateStatus: () => true };
  const withServer = { url: gateway.url.origin };
  const client = await new OpenAPIClientAxios({ definition, withServer, axiosConfigDefaults }).init();
  const { take, settle } = client as unknown as Record<
    "take" | "settle",
    (parameters: null, body: object) => Promise<{ status: number; headers: Record<string, string>; data: never }>
  >;
  return {
    take: (body: object) => take(null, body),
    settle: (reservation: string, used: unknown) => settle(null, { reservation, used }),
  };
}

it("takes, reserves and settles through any of several gateways", async () => {
  const { rest, redis, calls } = await startPrivateRedis();
  const vars = { TAKE_TOKEN };
  const clients = [];
  for (let i = 0; i < 2; i++)
    clients.push(await clientOf(await startGateway({ policies: POLICIES, redis: rest, vars })));
  const [one, two] = clients as [Awaited<ReturnType<typeof clientOf>>, Awaited<ReturnType<typeof clientOf>>];
  const left = async () => {
    const { data } = await two.take({
      takes: [
        { policy: "api", key: "ann" },
        { policy: "team", key: "ann" },
      ],
      peek: true,
    });
    return (data as { limits: { remaining: number }[] }).limits.map(({ remaining }) => remaining);
  };

  const taken = await one.take({ policy: "api", key: "ann", cost: 3 });
  expect([taken.status, taken.data]).toMatchObject([
    200,
    { allowed: true, outcome: "admitted", source: "redis", remaining: 7 },
  ]);
  expect(taken.headers["ratelimit-policy"]).toBe('"api-1";q=10;w=3600, "api-2";q=20;w=86400');
  const refused = await two.take({ policy: "api", key: "ann", cost: 8 });
  expect([refused.status, refused.data]).toMatchObject([429, { allowed: false, remaining: 7 }]);
  expect(await left()).toEqual([7, 17, 100]);

  const takes = [
    { policy: "api", key: "ann", cost: 4 },
    { policy: "team", key: "ann", cost: 9 },
  ];
  const reserved = await one.take({ takes, reserve: true });
  expect(await left()).toEqual([3, 13, 91]);
  const { reservation } = reserved.data as { reservation: string };
  const used = { api: 1, team: 12 };
  calls.length = 0;
  const first = await two.settle(reservation, used);
  expect(first.data).toEqual({
    settled: [
      { policy: "api", reserved: 4, used: 1 },
      { policy: "team", reserved: 9, used: 12 },
    ],
  });
  expect(calls).toEqual(["evalsha", "evalsha"]);
  const again = await Promise.all([
    one.settle(reservation, 0),
    two.settle(reservation, { api: 9 }),
    one.settle(reservation, used),
  ]);
  for (const { data } of again) expect(data).toEqual(first.data);
  expect(await left()).toEqual([6, 16, 88]);

  const ids = (await redis.keys("*!settled:*")).sort();
  expect(ids).toEqual([
    expect.stringMatching(/^hg:2:\{api:[\w-]{22}\}!settled:[\w-]{36}$/),
    expect.stringMatching(/^hg:2:\{team:[\w-]{22}\}!settled:[\w-]{36}$/),
  ]);
  for (const id of ids) {
    const leftMs = await redis.pttl(id);
    expect(leftMs).toBeGreaterThan(600_000);
    expect(leftMs).toBeLessThanOrEqual(660_000);
  }

  // Who settles remembers no refusal of what has come back.
  const last = await one.take({ policy: "api", key: "ann", cost: 6, reserve: true });
  const next = async () => (await one.take({ policy: "api", key: "ann" })).status;
  expect(await next()).toBe(429);
  await one.settle((last.data as { reservation: string }).reservation, 5);
  expect([await next(), await next()]).toEqual([200, 429]);
});

it("while the store is down, each policy decides as it says, and nothing can be settled", async () => {
  const { rest, redis } = await startPrivateRedis();
  const vars = { TAKE_TOKEN, KEY_SECRET: "the secret of both gateways" };
  const up = await clientOf(await startGateway({ policies: POLICIES, redis: rest, vars }));
  const gone = { ...rest, url: `http://127.0.0.1:${await freePort()}` };
  const down = await clientOf(await startGateway({ policies: POLICIES, redis: gone, vars }));
  const { data } = await up.take({ policy: "local", key: "ann", cost: 4, reserve: true });
  const { reservation } = data as { reservation: string };

  const local = await down.take({ policy: "local", key: "ann", cost: 4, reserve: true });
  expect([local.status, local.data]).toMatchObject([200, { source: "fallback" }]);
  expect(local.data).not.toHaveProperty("reservation");
  expect(local.headers).not.toHaveProperty("ratelimit");
  const denied = await down.take({ policy: "surely", key: "ann" });
  expect([denied.status, denied.data]).toMatchObject([503, { allowed: false, outcome: "unavailable", limits: [] }]);
  expect(denied.headers["retry-after"]).toBe("1");
  const unsettled = await down.settle(reservation, 1);
  expect([unsettled.status, unsettled.data]).toMatchObject([
    503,
    { detail: expect.stringMatching(/^The store does not/) },
  ]);
  expect((await up.settle(reservation, 2)).status).toBe(200);
  expect((await up.take({ policy: "local", key: "ann", peek: true })).data).toMatchObject({ remaining: 8 });
  expect(await redis.keys("*!settled:*")).toHaveLength(1);
});
