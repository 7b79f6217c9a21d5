// The live document: what is refused, what a damaged one changes, what stays after a deployment, and what it costs.

import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { LIVE_KEY } from "../../src/kernel/core/layout.ts";
import { headgate } from "../cli/run.ts";
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
const HASH = "AAAAAAAAAAAAAAAAAAAAAA";
const WITHIN = { timeout: 20_000, interval: 100 };

const put = (body: unknown) => ({ method: "PUT", body });
const events = ({ logs }: AdminGateway) => logs.map((line) => JSON.parse(line).event);
const statusOf = async (gateway: AdminGateway, address: string) => (await gateway.fetch("/", { address })).status;

/** Replaces the document by one with these policies and overrides. */
async function replace(gateway: AdminGateway, document: unknown) {
  const { headers } = await gateway.admin("/live");
  return await gateway.admin("/live", { ...put(document), headers: { "If-Match": headers.get("ETag")! } });
}

describe("what is not valid", () => {
  const override = (fields: object) => ({
    policies: {},
    overrides: [{ policy: "api", kind: "ip", key: HASH, ...fields }],
  });
  const policy = (fields: unknown) => ({ policies: { api: fields }, overrides: [] });
  // test/features/live/check.test.ts has every mistake.
  const DOCUMENTS: readonly (readonly [what: string, document: unknown, ...paths: string[]])[] = [
    ["null", null, ""],
    ["no parts", {}, "policies", "overrides"],
    ["null as a number", policy({ limits: { "api-1": null } }), "policies.api.limits.api-1"],
    ["an override with a raw key", override({ key: CLIENT, block: true }), "overrides[0].key"],
  ];

  it("is refused with every mistake, and changes nothing", async () => {
    const { rest, redis } = await startPrivateRedis();
    const gateway = await startAdmin({ policies: POLICIES, redis: rest });
    for (const [what, document, ...paths] of DOCUMENTS) {
      const { status, body } = await replace(gateway, document);
      const found = body.mistakes?.map(({ path }: { path: string }) => path);
      expect({ what, status, paths: found }).toEqual({ what, status: 422, paths });
    }
    for (const [what, body, path] of [
      ["an override of nothing", {}, ""],
      ["a list", [], ""],
      ["the key of another client", { block: true, key: HASH }, "key"],
    ] as const) {
      const answer = await gateway.admin(`/overrides/api?key=${CLIENT}`, put(body));
      expect({ what, status: answer.status, path: answer.body.mistakes?.[0].path }).toEqual({
        what,
        status: 422,
        path,
      });
    }
    const patches = [
      {},
      [],
      { limits: {} },
      { mode: "off" },
      { limits: { "api-1": 0 } },
      { note: null },
      { limits: 0 },
    ];
    for (const body of patches) {
      const { status } = await gateway.admin("/policies/api", { method: "PATCH", body });
      expect([body, status]).toEqual([body, 422]);
    }
    expect(await redis.exists(LIVE_KEY)).toBe(0);
  });

  it("is dollars for a policy that counts dollars, in every answer but the header fields", async () => {
    const usd = {
      name: "usd",
      meter: { unit: "usd", prices: { default: { input: 15, output: 75 } } },
      limits: [{ algorithm: "fixed-window", limit: 12.5, window: "1d" }],
    };
    const gateway = await startAdmin({ policies: [usd], redis: null, counts: true });
    const patch = (number: number) =>
      gateway.admin("/policies/usd", { method: "PATCH", body: { limits: { usd: number } } });
    expect((await patch(0.000001)).status).toBe(422);
    expect((await patch(2.5)).body).toMatchObject({ policy: { limits: { usd: 2.5 } } });
    const { policies } = (await gateway.admin("/policies")).body;
    expect(policies).toMatchObject([{ meter: { unit: "usd" }, limits: [{ id: "usd", limit: 2.5 }] }]);
    await gateway.admin(`/overrides/usd?key=${CLIENT}`, put({ factor: 2 }));
    const { limits } = (await gateway.admin(`/counts/usd?key=${CLIENT}`)).body;
    expect(limits).toEqual([{ id: "usd", unit: "usd", limit: 5, remaining: 5, resetAfterMs: 0 }]);
    const { headers } = await gateway.fetch("/", { address: "192.0.2.77" });
    expect(headers.get("RateLimit-Policy")).toContain(';q=250000;w=86400;qu="10-micro-usd"');
    const left = await (await gateway.fetch("/.headgate/limits/me?path=/", { address: CLIENT })).json();
    expect(left).toMatchObject({ limits: [{ id: "usd", unit: "usd", remaining: 5, quota: 5 }] });
  });

  it("is told by its status: no JSON, too large, no such policy, no such client, no version", async () => {
    const gateway = await startAdmin({ policies: POLICIES, redis: null, counts: true });
    const statusOfCall = async (...call: Parameters<AdminGateway["admin"]>) => (await gateway.admin(...call)).status;
    const path = `/overrides/api?key=${CLIENT}`;
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
});

it("changes the version that If-Match names, or nothing: overrides, policies and the whole document", async () => {
  const { rest } = await startPrivateRedis();
  const gateway = await startAdmin({ policies: POLICIES, redis: rest });
  const client = `/overrides/api?key=${CLIENT}`;
  const CALLS = [
    [client, put({ block: true })],
    [client, put({ block: true })], // changes nothing
    ["/policies/api", { method: "PATCH", body: { mode: "shadow" } }],
    [client, { method: "DELETE" }],
    ["/live", put({ policies: {}, overrides: [] })],
  ] as const;
  let version = 0;
  for (const [path, call] of CALLS) {
    const ask = (tag: string) => gateway.admin(path, { ...call, headers: { "If-Match": tag } });
    const wrong = [`"${version + 1}"`, `"${version + 1}", "99"`, `"0${version}"`, "x", ...(version === 0 ? ["*"] : [])];
    for (const tag of wrong) expect([path, tag, (await ask(tag)).status]).toEqual([path, tag, 412]);
    expect((await gateway.admin("/live")).body.version).toBe(version);
    const right = [`W/"${version}"`, `"99", "${version}"`, "*"][version % 3]!;
    const { status, headers, body } = await ask(right);
    expect([path, status, headers.get("ETag")]).toEqual([path, 200, `"${body.version}"`]);
    version = body.version as number;
  }
  expect(version).toBe(4);
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

describe("a document that is", () => {
  /** A gateway in which a client is blocked, and a way to start another one over the same Redis. */
  async function startBlocked() {
    const { rest, redis } = await startPrivateRedis();
    const start = () => startAdmin({ policies: POLICIES, redis: rest });
    const gateway = await start();
    expect((await gateway.admin(`/overrides/api?key=${BLOCKED}`, put({ block: true }))).status).toBe(200);
    expect(await statusOf(gateway, BLOCKED)).toBe(403);
    return { redis, start, gateway };
  }

  it.each([
    ["no JSON", { version: 7, text: '{"policies":' }, "live-damaged", 7],
    ["without its text", { version: 9 }, "live-damaged", 9],
    ["gone", {}, "live-gone", 0],
  ] as const)(
    "%s in Redis changes nothing, is in the log, and a change builds on the good one",
    async (_, stored, event, version) => {
      const { redis, start, gateway } = await startBlocked();
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
        notes: [expect.stringMatching(/damaged or gone/)],
      });
      const built = await gateway.admin(`/overrides/api?key=${CLIENT}`, put({ factor: 2 }));
      expect(built.body).toMatchObject({ version: version + 1, override: { factor: 2 } });
      await expect.poll(() => statusOf(cold, BLOCKED), WITHIN).toBe(403);
    },
  );

  it("in part no document is listed without that part, kept, and changed beside it", async () => {
    const { redis, gateway } = await startBlocked();
    const { version = "", text = "" } = await redis.hgetall(LIVE_KEY);
    const { overrides, ...document } = JSON.parse(text);
    const wrong = [null, 7, "text", [], {}, { policy: "api" }, { policy: 3, key: "k" }];
    const policies = { api: null, site: "text" };
    const byHand = JSON.stringify({ ...document, policies, overrides: [...wrong, ...overrides] });
    await redis.hset(LIVE_KEY, { version: Number(version) + 1, text: byHand });
    expect((await gateway.admin("/overrides")).body.overrides).toEqual(overrides);
    expect((await gateway.admin("/policies")).body.policies[0].live).toBeNull();
    expect((await gateway.admin("/live")).body.ignored.length).toBeGreaterThanOrEqual(wrong.length);
    const env = { HEADGATE_URL: gateway.url.href, HEADGATE_TOKEN: ADMIN_TOKEN };
    const { status, stdout } = await headgate("/", ["admin", "overrides"], env);
    expect([status, stdout]).toEqual([0, expect.stringContaining("block")]);
    expect((await gateway.admin(`/overrides/api?key=${CLIENT}`, put({ factor: 2 }))).status).toBe(200);
    const after = JSON.parse((await redis.hget(LIVE_KEY, "text"))!).overrides;
    expect(after).toEqual([...wrong, ...overrides, expect.objectContaining({ factor: 2 })]);
  });
});

it("while the store is away the last document is in force, and a change is 503", async () => {
  const { rest, slow } = await startPrivateRedis();
  const gateway = await startAdmin({ policies: POLICIES, redis: rest, vars: { REDIS_TIMEOUT_MS: 300 } });
  // On a busy machine the first calls may take longer than their budget.
  await expect
    .poll(async () => (await gateway.admin(`/overrides/api?key=${BLOCKED}`, put({ block: true }))).status, WITHIN)
    .toBe(200);
  slow(1_000);
  for (let i = 0; i < 3; i++) expect(await statusOf(gateway, BLOCKED)).toBe(403);
  await expect
    .poll(async () => [await statusOf(gateway, BLOCKED), events(gateway).includes("live-unread")], WITHIN)
    .toEqual([403, true]);
  for (const [path, method] of [
    ["/live", "GET"],
    ["/policies", "GET"],
    ["/counts/api?key=192.0.2.1", "GET"],
    ["/counts/api?key=192.0.2.1", "DELETE"],
  ] as const) {
    const { status, body } = await gateway.admin(path, { method });
    expect([path, status, body.status]).toEqual([path, 503, 503]);
  }
  expect((await gateway.admin(`/overrides/api?key=${CLIENT}`, put({ block: true }))).status).toBe(503);
});

describe("after a deployment", () => {
  it("that renames a limit and a policy every other entry holds, and what is unknown is listed and kept", async () => {
    const { rest } = await startPrivateRedis();
    const before = await startAdmin({ policies: POLICIES, redis: rest });
    await before.admin("/policies/api", { method: "PATCH", body: { limits: { "api-1": 700, "api-2": 800 } } });
    await before.admin("/policies/site", { method: "PATCH", body: { mode: "shadow" } });
    await before.admin(`/overrides/api?key=${BLOCKED}`, put({ block: true, limits: { "api-2": 900 } }));

    const [api, site] = POLICIES as [(typeof POLICIES)[0], (typeof POLICIES)[1]];
    const policies = [
      { ...api, limits: [api.limits[0]] },
      { ...site, name: "pages" },
    ];
    const after = await startAdmin({ policies, redis: rest });
    expect(await statusOf(after, BLOCKED)).toBe(403);
    const { body } = await after.admin("/live");
    const paths = body.ignored.map(({ path }: { path: string }) => path);
    expect(paths.sort()).toEqual(
      ["overrides[0].limits.api-2", "policies.api.limits.api-1", "policies.api.limits.api-2", "policies.site"].sort(),
    );
    expect((await after.admin("/policies/api", { method: "PATCH", body: { limits: { api: 600 } } })).status).toBe(200);
    expect((await after.fetch("/", { address: CLIENT })).headers.get("X-RateLimit-Limit")).toBe("600");
    // The whole document can be written back with what this configuration does not know.
    const newest = (await after.admin("/live")).body;
    expect(newest.policies).toMatchObject({
      api: { limits: { "api-1": 700, "api-2": 800, api: 600 } },
      site: { mode: "shadow" },
    });
    expect((await replace(after, newest)).status).toBe(200);
    expect(after.logs.join("\n")).toContain('"event":"live"');
  });

  it("of another deployment is not obeyed and not changed; a namespace has a document of its own", async () => {
    const { rest } = await startPrivateRedis();
    const [production, staging, apart] = await Promise.all(
      [{ DEPLOYMENT: "production" }, { DEPLOYMENT: "staging" }, { NAMESPACE: "staging" }].map((vars) =>
        startAdmin({ policies: POLICIES, redis: rest, vars }),
      ),
    );
    const shadow = { method: "PATCH", body: { mode: "shadow" } };
    expect((await production!.admin(`/overrides/api?key=${BLOCKED}`, put({ block: true }))).status).toBe(200);
    const detail = expect.stringMatching(/belongs to the deployment production/);
    expect(await staging!.admin("/policies/api", shadow)).toMatchObject({ status: 409, body: { detail } });
    expect((await staging!.admin("/live")).body).toMatchObject({ owner: "production", notes: [detail] });
    expect(await (await staging!.fetch("/.headgate/health")).json()).toMatchObject({
      status: "degraded",
      notes: expect.arrayContaining([detail]),
    });
    expect(events(staging!)).toContain("live-foreign");
    expect([await statusOf(production!, BLOCKED), await statusOf(staging!, BLOCKED)]).toEqual([403, 200]);

    expect((await apart!.admin("/policies/api", shadow)).status).toBe(200);
    expect((await apart!.admin("/live")).body).toMatchObject({ owner: "staging", version: 1, overrides: [] });
    expect((await production!.admin("/live")).body).toMatchObject({ owner: "production", version: 1, policies: {} });
  });

  it("of a new key secret the policies' entries hold; log, health and GET /live say that clients are not found", async () => {
    const { rest } = await startPrivateRedis();
    const secrets = ["the first secret of keys", "another secret of keys"];
    const [old, renewed] = await Promise.all(
      secrets.map((KEY_SECRET) => startAdmin({ policies: POLICIES, redis: rest, vars: { KEY_SECRET } })),
    );
    await old!.admin("/policies/api", { method: "PATCH", body: { limits: { "api-1": 400 } } });
    await old!.admin(`/overrides/api?key=${BLOCKED}`, put({ block: true }));
    const health = async (gateway: AdminGateway) => await (await gateway.fetch("/.headgate/health")).json();
    const notes = expect.arrayContaining([expect.stringMatching(/another key secret/)]);
    expect(await health(renewed!)).toMatchObject({ notes });
    expect(await statusOf(renewed!, BLOCKED)).toBe(200);
    expect((await renewed!.fetch("/", { address: CLIENT })).headers.get("X-RateLimit-Limit")).toBe("400");
    expect((await renewed!.admin("/live")).body).toMatchObject({ notes });
    expect(events(renewed!)).toContain("live-other-secret");

    // Overrides of both secrets stand beside each other.
    expect((await renewed!.admin(`/overrides/api?key=${CLIENT}`, put({ block: true }))).status).toBe(200);
    expect(await statusOf(renewed!, CLIENT)).toBe(403);
    expect(await health(renewed!)).toMatchObject({ notes });
    expect((await old!.admin("/live")).body.overrides).toHaveLength(2);
    expect(await statusOf(old!, BLOCKED)).toBe(403);
  });
});

describe("a large document", () => {
  const overrides = (count: number, more: readonly object[] = []) => ({
    policies: {},
    overrides: [
      ...Array.from({ length: count }, () => ({
        policy: "api",
        kind: "ip",
        key: randomBytes(16).toString("base64url"),
        factor: 2,
      })),
      ...more,
    ],
  });

  it("of 2,000 overrides is read in one call; a larger one than 256 KiB is refused", async () => {
    const { rest, calls } = await startPrivateRedis();
    const gateway = await startAdmin({ policies: POLICIES, redis: rest });
    await gateway.admin(`/overrides/api?key=${BLOCKED}`, put({ block: true }));
    const { overrides: blocked } = (await gateway.admin("/overrides")).body;
    expect((await replace(gateway, overrides(1_999, blocked))).status).toBe(200);

    const cold = await startAdmin({ policies: POLICIES, redis: rest });
    calls.length = 0;
    expect(await statusOf(cold, BLOCKED)).toBe(403);
    expect(calls).toEqual(["evalsha"]);
    expect((await cold.admin("/overrides")).body.overrides).toHaveLength(2_000);

    expect((await replace(gateway, overrides(4_000))).status).toBe(422);
    // Each single change is small; the document that it makes would not be.
    const note = "x".repeat(500);
    const long = { policy: "api", kind: "ip", factor: 2, note };
    const many = Array.from({ length: 440 }, () => ({ ...long, key: randomBytes(16).toString("base64url") }));
    expect((await replace(gateway, { policies: {}, overrides: many })).status).toBe(200);
    const statuses: number[] = [];
    while (!statuses.includes(422) && statuses.length < 30) {
      const address = `198.51.100.${statuses.length}`;
      const { status } = await gateway.admin(`/overrides/api?key=${address}`, put({ factor: 2, note }));
      statuses.push(status);
    }
    expect(statuses.at(-1)).toBe(422);
  });
});
