// The live document: what is refused, what a damaged one changes, and whose it is.

import { expect, it } from "vitest";
import { LIVE_KEY } from "../../src/kernel/core/layout.ts";
import { ADMIN_TOKEN, type AdminGateway, startAdmin } from "../support/gateway/admin.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const [CLIENT, BLOCKED] = ["192.0.2.1", "192.0.2.2"] as const;
const POLICIES = [
  {
    name: "api",
    key: ["ip"],
    cost: [{ path: "/dear", cost: 10 }],
    limits: [
      { limit: 500, window: "1h" },
      { algorithm: "token-bucket", limit: 600, window: "1d" },
    ],
  },
  { name: "site", match: { path: "/site" }, key: ["header:x-user+ip", "bearer"], limits: [{ limit: 5, window: "1h" }] },
];
const WITHIN = { timeout: 20_000, interval: 100 };

const put = (body: unknown) => ({ method: "PUT", body });
const events = ({ logs }: AdminGateway) => logs.map((line) => JSON.parse(line).event);
const statusOf = async (gateway: AdminGateway, address: string) => (await gateway.fetch("/", { address })).status;

it("what is wrong is told by its status: a mistake, no JSON, too large, no such policy, no such client, no version", async () => {
  const gateway = await startAdmin({ policies: POLICIES, redis: null, counts: true });
  const statusOfCall = async (...call: Parameters<AdminGateway["admin"]>) => (await gateway.admin(...call)).status;
  const path = `/overrides/api?key=${CLIENT}`;
  // test/operate/admin-check.test.ts has every mistake.
  for (const body of [{}, [], { factor: 0 }, { block: true, key: CLIENT }]) {
    expect([body, await statusOfCall(path, put(body))]).toEqual([body, 422]);
  }
  expect(await statusOfCall("/policies/api", { method: "PATCH", body: { limits: { "api-1": 0 } } })).toBe(422);
  const raw = { policies: {}, overrides: [{ policy: "api", kind: "ip", key: CLIENT, block: true }] };
  expect(await statusOfCall("/live", { ...put(raw), headers: { "If-Match": '"0"' } })).toBe(422);
  expect(await statusOfCall(path, put("{"))).toBe(400);
  expect(await statusOfCall(path, put({ block: true, note: "x".repeat(1_048_576) }))).toBe(413);
  expect(await statusOfCall(`/overrides/apii?key=${CLIENT}`, put({ block: true }))).toBe(404);
  for (const client of ["", "?key=nobody", "?key=192.0.2.1&kind=bearer", "?key=a&key=b", "?kind=constructor&key=a"]) {
    expect(await statusOfCall(`/overrides/api${client}`, put({ block: true })), client).toBe(400);
  }
  const unreadable = { headers: { "Headgate-Key": "Müller" } };
  expect(await statusOfCall("/counts/site?kind=bearer", unreadable)).toBe(400);
  expect(await statusOfCall("/live", put({ policies: {}, overrides: [] }))).toBe(428);
  for (const tag of ['"1"', "0", '"x"', "*"]) {
    const headers = { "If-Match": tag };
    expect(await statusOfCall("/live", { ...put({ policies: {}, overrides: [] }), headers }), tag).toBe(412);
  }
  expect(await statusOfCall("/stats?minutes=60")).toBe(404);
  expect((await gateway.admin("/live")).body).toMatchObject({ version: 0, overrides: [] });
});

it("names clients by any kind of key, and the raw key is nowhere", async () => {
  const { rest, redis } = await startPrivateRedis();
  const gateway = await startAdmin({ policies: POLICIES, redis: rest });
  const raw = ["s3cret~t0ken+of/ann", "us3r; 1%20", "198.51.100.77"] as const;
  const [token, user, address] = raw;
  const field = (key: string, kind: string) => ({ query: `?kind=${kind}`, headers: { "Headgate-Key": key } });
  const combined = field(`${encodeURIComponent(user)}, ${address}`, encodeURIComponent("header:x-user+ip"));
  for (const { query, headers } of [field(encodeURIComponent(token), "bearer"), combined]) {
    expect((await gateway.admin(`/overrides/site${query}`, { ...put({ block: true }), headers })).status).toBe(200);
    expect((await gateway.admin(`/counts/site${query}`, { headers })).body.override).toMatchObject({ block: true });
    expect((await gateway.admin(`/counts/site${query}`, { method: "DELETE", headers })).status).toBe(200);
  }
  const asBearer = await gateway.fetch("/site", { address, headers: { Authorization: `Bearer ${token}` } });
  expect(asBearer.status).toBe(403);
  expect((await gateway.fetch("/site", { address, headers: { "X-User": user } })).status).toBe(403);
  const keys = await redis.keys("*");
  const stored = await Promise.all([
    redis.hgetall(LIVE_KEY),
    ...keys.filter((key) => key !== LIVE_KEY).map((key) => redis.get(key)),
  ]);
  const all = JSON.stringify([keys, stored, gateway.logs]);
  expect(gateway.logs.filter((line) => line.includes('"event":"admin"'))).toHaveLength(4);
  for (const text of [...raw, ADMIN_TOKEN, encodeURIComponent(token), "us3r", "t0ken%20of"])
    expect(all).not.toContain(text);
});

it.each([
  ["no JSON", { version: 7, text: '{"policies":' }, "live-damaged", 7],
  ["gone", {}, "live-gone", 0],
] as const)(
  "a document that is %s in Redis changes nothing, is in the log, and a change builds on the good one",
  async (_, stored, event, version) => {
    const { rest, redis } = await startPrivateRedis();
    const start = () => startAdmin({ policies: POLICIES, redis: rest });
    const gateway = await start();
    expect((await gateway.admin(`/overrides/api?key=${BLOCKED}`, put({ block: true }))).status).toBe(200);
    expect(await statusOf(gateway, BLOCKED)).toBe(403);
    await redis.del(LIVE_KEY);
    if (version > 0) await redis.hset(LIVE_KEY, stored);
    await expect
      .poll(async () => [await statusOf(gateway, BLOCKED), events(gateway).includes(event)], WITHIN)
      .toEqual([403, true]);

    const cold = await start();
    expect(await statusOf(cold, BLOCKED)).toBe(200);
    if (event === "live-damaged") {
      expect((await cold.admin(`/overrides/api?key=${CLIENT}`, put({ factor: 2 }))).status).toBe(409);
    }

    const { body } = await gateway.admin("/live");
    expect(body).toMatchObject({
      version,
      overrides: [{ block: true }],
      notes: [expect.stringMatching(/damaged or missing/)],
    });
    const built = await gateway.admin(`/overrides/api?key=${CLIENT}`, put({ factor: 2 }));
    expect(built.body).toMatchObject({ version: version + 1, override: { factor: 2 } });
    await expect.poll(() => statusOf(cold, BLOCKED), WITHIN).toBe(403);
  },
);
