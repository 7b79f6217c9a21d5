// A client that the live document blocks, in a program around the limiter.

import { Hono } from "hono";
import { expect, it } from "vitest";
import { rateLimit } from "../../src/adapters/hono.ts";
import { createLimiter, live, memoryStore, withRateLimit } from "../../src/index.ts";
import { partitionHasher } from "../../src/kernel/request/hash.ts";
import { memoryLive } from "../../src/kernel/store/live.ts";

const ADDRESS = "192.0.2.1";
const BLOCKED = "urn:headgate:problem:blocked";
const CTX = { waitUntil() {}, passThroughOnException() {} } as unknown as ExecutionContext;
const request = () => new Request("https://gate.example/", { headers: { "CF-Connecting-IP": ADDRESS } });

/** A limiter whose live document has this override of the client. */
async function limiterWith(override: object) {
  const store = { ...memoryStore(), live: memoryLive() };
  const key = await partitionHasher(undefined, store.keySecret)({ kind: "ip", values: [ADDRESS] });
  const overrides = [{ policy: "api", kind: "ip", key, ...override }];
  await store.live.write(JSON.stringify({ policies: {}, overrides }), 0);
  const policies = [{ name: "api", limits: [{ limit: 2, window: "1h" }] }] as const;
  return createLimiter({ policies, store, features: [live()], onDecision: () => {} });
}

it("is answered 403 by withRateLimit, without fields of limits, and the handler does not run", async () => {
  const limiter = await limiterWith({ block: true });
  const worker = withRateLimit(() => {
    throw new Error("the handler ran");
  }, limiter);
  const answer = await worker.fetch(request() as never, {}, CTX);
  expect(answer.status).toBe(403);
  expect(await answer.json()).toMatchObject({ type: BLOCKED, status: 403 });
  expect(answer.headers.get("X-Should-Retry")).toBe("false");
  for (const name of ["Retry-After", "RateLimit", "RateLimit-Policy", "X-RateLimit-Limit"]) {
    expect(answer.headers.has(name), name).toBe(false);
  }
});

it("is answered 403 by the Hono middleware, which tells the handler of refusals", async () => {
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const app = new Hono();
  const response = (decision: { blocked?: true }) => new Response("go away", { status: decision.blocked ? 403 : 429 });
  app.use(rateLimit(await limiterWith({ block: true, exempt: true, until }), { response }));
  app.get("/", (c) => c.text("ok"));
  const answer = await app.request(request());
  expect([answer.status, await answer.text()]).toEqual([403, "go away"]);
  expect(Number(answer.headers.get("Retry-After"))).toBeGreaterThan(3_590);
});
