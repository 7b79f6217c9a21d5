// src/worker.ts, as the runtime calls it.

import { createExecutionContext } from "cloudflare:test";
import { expect, it } from "vitest";
import worker from "../../src/worker.ts";
import { redisBindings, uniqueName } from "./support.ts";

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
