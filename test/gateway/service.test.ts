// The gateway's RateLimitService, called by another Worker through a service binding.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it, onTestFinished } from "vitest";
import { LIVE_KEY } from "../../src/core/layout.ts";
import { partitionHasher } from "../../src/partition/hash.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { startWorkerd } from "../support/gateway/workerd.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";
import { sharedRedis } from "../support/redis/shared-redis.ts";

/** Calls the service as the test says, or sends the gateway a request, and returns the outcome. */
const CALLER = `export default {
  async fetch(request, env) {
    const [method, ...args] = await request.json();
    if (method === "request") {
      const [headers, cf] = args;
      const { status } = await env.GATEWAY.fetch("https://gate.example/", { headers, cf });
      return Response.json({ value: { status } });
    }
    try {
      return Response.json({ value: await env.HEADGATE[method](...args) });
    } catch (error) {
      return Response.json({ name: error.name, message: error.message });
    }
  },
};`;

async function startService(
  policies: readonly object[],
  vars: Record<string, string> = { REGION: "eu" },
  redis: { url: string; token: string } = { url: inject("restUrl"), token: inject("restToken") },
) {
  const gateway = {
    name: "gateway",
    code: readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8"),
    bindings: {
      POLICIES: policies,
      ...vars,
      UPSTASH_REDIS_REST_URL: redis.url,
      UPSTASH_REDIS_REST_TOKEN: redis.token,
      REDIS_TIMEOUT_MS: 10_000,
    },
  };
  const HEADGATE = { name: "gateway", entrypoint: "RateLimitService" };
  const caller = { name: "caller", code: CALLER, services: { HEADGATE, GATEWAY: "gateway" } };
  const { port, stop } = await startWorkerd([caller, gateway]);
  onTestFinished(stop);
  const url = `http://127.0.0.1:${port}`;
  return async (method: string, ...args: unknown[]) => {
    const answer = await fetch(url, { method: "POST", body: JSON.stringify([method, ...args]) });
    return (await answer.json()) as { value?: Record<string, unknown>; name?: string; message?: string };
  };
}

it("takes, looks and resets, under one policy or several at once", async () => {
  const [user, site] = [uniqueName("user"), uniqueName("site")];
  const call = await startService([
    { name: user, limits: [{ limit: 5, window: "1h" }] },
    { name: site, key: ["global"], limits: [{ limit: 100, window: "1h", scope: "region" }] },
  ]);
  const both = [{ policy: user, key: "ann" }, { policy: site }];

  expect((await call("take", both, { cost: 3 })).value).toMatchObject({
    allowed: true,
    source: "redis",
    remaining: 2,
    retryAfterMs: 0,
    limits: [
      { limit: { id: user }, remaining: 2 },
      { limit: { id: site }, remaining: 97 },
    ],
  });
  const refused = (await call("take", both, { cost: 3 })).value;
  expect(refused).toMatchObject({ allowed: false, remaining: 2 });
  expect(refused!.retryAfterMs).toBeGreaterThan(0);
  expect((await call("peek", site)).value).toMatchObject({ allowed: true, remaining: 97 });
  expect(await call("reset", user, { key: "ann" })).toEqual({});
  expect((await call("peek", user, { key: "ann", cost: 5 })).value).toMatchObject({ allowed: true, remaining: 5 });
});

it("takes with the numbers of a plan, or with the caller's", async () => {
  const user = uniqueName("user");
  const call = await startService([
    { name: user, limits: [{ limit: 1, window: "1h" }], plans: { pro: { [user]: 3 } } },
  ]);
  const take = async (options: object) => {
    const { value } = await call("take", user, { key: "ann", ...options });
    return [value!.allowed, value!.remaining];
  };
  expect(await take({})).toEqual([true, 0]);
  expect(await take({})).toEqual([false, 0]);
  expect(await take({ plan: "pro" })).toEqual([true, 1]);
  expect(await take({ limits: { [user]: 2 } })).toEqual([false, 0]);
  expect(await take({ plan: "pro", limits: { [user]: 4 } })).toEqual([true, 1]);
  expect(await call("take", user, { key: "ann", limits: { nobody: 2 } })).toMatchObject({ name: "TypeError" });
});

it("refuses misuse as the limiter does, and concurrency limits, whose slots it could not give back", async () => {
  const [user, slots] = [uniqueName("user"), uniqueName("slots")];
  const call = await startService([
    { name: user, limits: [{ limit: 5, window: "1h" }] },
    { name: slots, limits: [{ algorithm: "concurrency", limit: 1 }] },
  ]);
  for (const method of ["take", "peek", "reset"]) {
    for (const policy of [[], [5], [null], [[null]], [["api"]], [null, null]]) {
      const { name, message } = await call(method, ...policy);
      expect([name, message]).toEqual([
        "TypeError",
        expect.stringMatching(/^take: (policies\[0\]: )?expected .* found /),
      ]);
    }
    const tooMany = Array.from({ length: 1_001 }, (_, i) => ({ policy: user, key: `${i}` }));
    const { name, message } = await call(method, tooMany);
    expect([name, message]).toEqual(["TypeError", expect.stringContaining("expected at most 1000 keys")]);
  }
  expect(await call("take", "nobody", { key: "a" })).toMatchObject({ name: "TypeError" });
  expect(await call("take", user)).toMatchObject({ name: "TypeError" });
  expect(await call("take", user, { key: "a", cost: -1 })).toMatchObject({ name: "TypeError" });
  for (const policy of [slots, [{ policy: slots, key: "a" }]]) {
    const { name, message } = await call("take", policy, { key: "a" });
    expect([name, message]).toEqual(["TypeError", expect.stringContaining("concurrency")]);
  }
  expect((await call("peek", slots, { key: "a" })).value).toMatchObject({ allowed: true });
});

it("looks at clients of the gateway, and frees them, by the kind that they are counted by", async () => {
  const [address, site] = [uniqueName("address"), uniqueName("site")];
  const call = await startService([
    { name: address, key: ["bearer", "ip"], limits: [{ limit: 3, window: "1h" }] },
    { name: site, key: ["global"], limits: [{ limit: 3, window: "1h" }] },
  ]);
  const client = { "CF-Connecting-IP": "2001:db8:1:2::1" };
  const statuses = [];
  for (let i = 0; i < 4; i++) statuses.push((await call("request", client)).value!.status);
  expect(statuses).toEqual([200, 200, 200, 429]);

  const named = { kind: "ip", key: "2001:0DB8:1:2::ffff" };
  const all = [{ policy: address, ...named }, { policy: site }];
  expect((await call("peek", all)).value).toMatchObject({
    allowed: false,
    limits: [{ remaining: 0 }, { remaining: 0 }],
  });
  await call("reset", address, named);
  await call("reset", site);
  expect((await call("request", client)).value).toEqual({ status: 200 });
  expect((await call("peek", all)).value).toMatchObject({ limits: [{ remaining: 2 }, { remaining: 2 }] });
});

it("writes under no region that is no name, whether a caller names it or says so in request.cf", async () => {
  const name = uniqueName("region");
  const log = { algorithm: "sliding-log", limit: 5, window: "1m", scope: "region" };
  const call = await startService([{ name, key: ["global"], limits: [log] }], {});
  for (const region of ["eu#5:60000", "eu:x", "", 7, { length: 2 }]) {
    for (const method of ["take", "peek", "reset"]) {
      expect(await call(method, name, { region })).toMatchObject({ name: "TypeError" });
    }
  }
  await call("request", {}, { continent: "eu#5:60000", colo: "constructor" });
  const keys = await sharedRedis().keys(`*${name}*`);
  expect(keys.map((key) => key.split("}")[1]).sort()).toEqual([":local", ":local#5:60000"]);
});

it("refuses keys that are no text: objects could be made to look like another's", async () => {
  const name = uniqueName("user");
  const call = await startService([{ name, limits: [{ limit: 5, window: "1h" }] }]);
  for (const key of [7, ["a"], { length: 1 }, true]) {
    expect(await call("take", name, { key })).toMatchObject({ name: "TypeError" });
  }
  expect(await call("take", name, { kind: "cookie:a", key: "a" })).toMatchObject({
    name: "TypeError",
    message: expect.stringContaining("one of ip, anonymous"),
  });
});

it("says no more than that the gateway is misconfigured", async () => {
  const call = await startService([{ name: "NOT A NAME", limits: [] }]);
  const { message } = await call("take", "api", { key: "a" });
  expect(message).toContain("misconfigured");
  expect(message).not.toContain("NOT A NAME");
});

it("refuses a client that the live document blocks, and counts under the numbers of another", async () => {
  const { rest, redis } = await startPrivateRedis();
  const hash = partitionHasher(undefined, rest.token);
  const keyOf = (key: string) => hash({ kind: "key", values: [key] });
  const overrides = [
    { policy: "user", kind: "key", key: await keyOf("ann"), block: true },
    { policy: "user", kind: "key", key: await keyOf("ben"), factor: 3 },
  ];
  await redis.hset(LIVE_KEY, { version: 1, text: JSON.stringify({ policies: {}, overrides }) });
  const policies = [{ name: "user", limits: [{ limit: 5, window: "1h" }] }];
  const call = await startService(policies, { ADMIN_TOKEN: "t0ken-of-the-admin-of-these-tests" }, rest);
  expect((await call("take", "user", { key: "ann" })).value).toMatchObject({
    allowed: false,
    outcome: "blocked",
    blocked: true,
    source: "live",
  });
  expect((await call("take", "user", { key: "ben" })).value).toMatchObject({ allowed: true, remaining: 14 });
  expect((await call("take", "user", { key: "cat" })).value).toMatchObject({ allowed: true, remaining: 4 });
});

it("charges a take with an id once, by RPC too", async () => {
  const name = uniqueName("once");
  const call = await startService([{ name, once: "header:idempotency-key", limits: [{ limit: 5, window: "31d" }] }]);
  const take = async (once: string) => {
    const { value } = (await call("take", name, { key: "ann", once })) as { value: { limits: object[] } };
    return value.limits[0];
  };
  expect(await take("a")).toMatchObject({ remaining: 4 });
  expect(await take("a")).toMatchObject({ remaining: 4, repeated: true });
  expect(await take("b")).toMatchObject({ remaining: 3 });
});

it("decides under `shared` without Redis, and tells it what it has admitted", async () => {
  const policy = {
    name: uniqueName("shared"),
    consistency: "shared",
    sync: "100ms",
    limits: [{ limit: 5, window: "1h" }],
  };
  const [call, strict] = await Promise.all([
    startService([policy]),
    startService([{ ...policy, consistency: "strict", sync: undefined }]),
  ]);
  for (let i = 0; i < 7; i++) {
    const { value } = await call("take", policy.name, { key: "ann" });
    expect(value).toMatchObject({ allowed: i < 5, source: "shared" });
  }
  const left = async () => (await strict("peek", policy.name, { key: "ann" })).value!.remaining;
  // Real time: timers inside workerd tell after each `sync`.
  await expect.poll(left, { timeout: 10_000 }).toBe(0);
});
