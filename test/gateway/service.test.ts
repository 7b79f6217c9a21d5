// The gateway's RateLimitService, called by another Worker through a service binding. Keys and regions that are no
// text are refused by the limiter: test/kernel/limiter/{key-by-hand,region-names}.test.ts.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it, onTestFinished } from "vitest";
import { uniqueName } from "../support/gateway/gateway.ts";
import { startWorkerd } from "../support/gateway/workerd.ts";

/** Calls the service as the test says, and returns the outcome. */
const CALLER = `export default {
  async fetch(request, env) {
    const [method, ...args] = await request.json();
    try {
      return Response.json({ value: await env.HEADGATE[method](...args) });
    } catch (error) {
      return Response.json({ name: error.name, message: error.message });
    }
  },
};`;

async function startService(policies: readonly object[]) {
  const gateway = {
    name: "gateway",
    code: readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8"),
    bindings: {
      POLICIES: policies,
      REGION: "eu",
      UPSTASH_REDIS_REST_URL: inject("restUrl"),
      UPSTASH_REDIS_REST_TOKEN: inject("restToken"),
      REDIS_TIMEOUT_MS: 10_000,
    },
  };
  const HEADGATE = { name: "gateway", entrypoint: "RateLimitService" };
  const caller = { name: "caller", code: CALLER, services: { HEADGATE } };
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
