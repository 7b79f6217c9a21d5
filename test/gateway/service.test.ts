// The gateway's RateLimitService, called by another Worker through a service binding.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { expect, inject, it, onTestFinished } from "vitest";
import { uniqueName } from "../support/gateway.ts";

/** Calls the service as it is told, and tells what came of it. */
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
  const path = join(inject("workerDirectory"), "worker.js");
  const date = { compatibilityDate: "2026-10-01" };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      workers: [
        {
          name: "caller",
          modules: [{ type: "ESModule", path: "caller.js", contents: CALLER }],
          serviceBindings: { HEADGATE: { name: "gateway", entrypoint: "RateLimitService" } },
          ...date,
        },
        {
          name: "gateway",
          modules: [{ type: "ESModule", path, contents: readFileSync(path, "utf8") }],
          modulesRoot: inject("workerDirectory"),
          bindings: {
            POLICIES: [...policies] as never,
            REGION: "eu",
            UPSTASH_REDIS_REST_URL: inject("restUrl"),
            UPSTASH_REDIS_REST_TOKEN: inject("restToken"),
            REDIS_TIMEOUT_MS: 10_000,
          },
          ...date,
        },
      ],
    }),
  );
  onTestFinished(() => miniflare.dispose());
  const url = await miniflare.ready;
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

it("refuses misuse as the limiter does, and concurrency limits, whose slots it could not give back", async () => {
  const [user, slots] = [uniqueName("user"), uniqueName("slots")];
  const call = await startService([
    { name: user, limits: [{ limit: 5, window: "1h" }] },
    { name: slots, limits: [{ algorithm: "concurrency", limit: 1 }] },
  ]);
  expect(await call("take", "nobody", { key: "a" })).toMatchObject({ name: "TypeError" });
  expect(await call("take", user)).toMatchObject({ name: "TypeError" });
  expect(await call("take", user, { key: "a", cost: -1 })).toMatchObject({ name: "TypeError" });
  for (const policy of [slots, [{ policy: slots, key: "a" }]]) {
    const { name, message } = await call("take", policy, { key: "a" });
    expect([name, message]).toEqual(["TypeError", expect.stringContaining("concurrency")]);
  }
  expect((await call("peek", slots, { key: "a" })).value).toMatchObject({ allowed: true });
});

it("says no more than that the gateway is misconfigured", async () => {
  const call = await startService([{ name: "NOT A NAME", limits: [] }]);
  const { message } = await call("take", "api", { key: "a" });
  expect(message).toContain("misconfigured");
  expect(message).not.toContain("NOT A NAME");
});
