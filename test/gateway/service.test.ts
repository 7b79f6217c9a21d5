// The gateway's RateLimitService, called by another Worker through a service binding.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it, onTestFinished } from "vitest";
import { uniqueName } from "../support/gateway/gateway.ts";
import { startWorkerd } from "../support/gateway/workerd.ts";
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

async function startService(policies: readonly object[], vars: Record<string, string> = { REGION: "eu" }) {
  const gateway = {
    name: "gateway",
    code: readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8"),
    bindings: {
      POLICIES: policies,
      ...vars,
      UPSTASH_REDIS_REST_URL: inject("restUrl"),
      UPSTASH_REDIS_REST_TOKEN: inject("restToken"),
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

  const taken = (await call("take", both, { cost: 3 })).value;
  expect(taken).toMatchObject({ allowed: true, source: "redis", limits: [{ remaining: 2 }, { remaining: 97 }] });
  const retryAfterMs = expect.any(Number);
  expect((await call("take", both, { cost: 3 })).value).toMatchObject({ allowed: false, remaining: 2, retryAfterMs });
  expect((await call("peek", site)).value).toMatchObject({ allowed: true, remaining: 97 });
  expect(await call("reset", user, { key: "ann" })).toEqual({});
  expect((await call("peek", user, { key: "ann", cost: 5 })).value).toMatchObject({ allowed: true, remaining: 5 });
});

it("refuses concurrency limits, whose slots it could not give back", async () => {
  const slots = uniqueName("slots");
  const call = await startService([{ name: slots, limits: [{ algorithm: "concurrency", limit: 1 }] }]);
  const message = expect.stringContaining("concurrency");
  for (const policy of [slots, [{ policy: slots, key: "a" }]]) {
    expect(await call("take", policy, { key: "a" })).toMatchObject({ name: "TypeError", message });
  }
  expect((await call("peek", slots, { key: "a" })).value).toMatchObject({ allowed: true });
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
