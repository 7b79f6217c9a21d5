// src/worker.ts with the policies of wrangler.toml, as the runtime calls it.

import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import worker from "../../src/worker.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { redisBindings, uniqueName } from "./support.ts";

const ask = (address: string, init: RequestInit = {}) =>
  exports.default.fetch("https://gate.example/", { ...init, headers: { "CF-Connecting-IP": address } });

/** A new client in every call and every run, because the Redis with the counts may be shared. */
function newAddress(): string {
  const [high, low] = crypto.getRandomValues(new Uint16Array(2));
  return `2001:db8:${high!.toString(16)}:${low!.toString(16)}::1`;
}

describe("the Worker", () => {
  it("answers 200 with the fields of the built-in policy", async () => {
    const beforeMs = Date.now();
    const answer = await ask(newAddress());
    const fields = fieldsOf(answer);

    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ origin: "headgate demo", method: "GET", path: "/" });
    expect(fields.policies).toEqual({ default: { q: 60, w: 60 } });
    expect(fields.states).toEqual({ default: { r: 59, t: expect.any(Number) } });
    // The unit comes back during the next bucket, in which the unit's own bucket counts less and less.
    const t = fields.states!.default!.t as number;
    expect(t).toBeGreaterThanOrEqual(60);
    expect(t).toBeLessThanOrEqual(120);
    expect(fields.legacy).toMatchObject({ limit: 60, remaining: 59 });
    expect(fields.legacy!.resetAt).toBeGreaterThanOrEqual(Math.floor(beforeMs / 1000) + t);
    expect(fields.legacy!.resetAt).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + t);
    expect(fields.retryAfter).toBeUndefined();
  });

  it("keeps one gateway for each set of bindings, also of bindings that are copied for each request", async () => {
    const bindings = () => ({
      ...redisBindings(),
      UPSTASH_REDIS_REST_URL: "",
      UPSTASH_REDIS_REST_TOKEN: "",
      POLICIES: [{ name: uniqueName("one"), limits: [{ limit: 1, window: "1h" }] }],
    });
    const [first, second] = [bindings(), bindings()];
    const statuses: number[] = [];
    for (const each of [first, first, { ...first }, second]) {
      const request = new Request("https://gate.example/") as Parameters<typeof worker.fetch>[0];
      statuses.push((await worker.fetch(request, each, createExecutionContext())).status);
    }
    expect(statuses).toEqual([200, 429, 429, 200]);
  });

  it("has the policies of wrangler.toml", () => {
    expect((env as { POLICIES?: unknown }).POLICIES).toEqual([
      { name: "default", key: ["ip"], limits: [{ limit: 60, window: "1m" }] },
    ]);
  });
});
