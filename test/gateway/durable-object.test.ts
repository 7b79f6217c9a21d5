// The bundled Worker with its Durable Object: several gateways over one object, and clients that go away.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";
import { expect, inject, it, onTestFinished } from "vitest";
import { startGateway } from "../support/gateway/gateway.ts";
import { bundleWorker, COUNTS, compatibility } from "../support/objects/counts-worker.ts";

const ELSEWHERE = { COUNTS: { ...COUNTS.COUNTS, scriptName: "counts" } };

type Send = (name: string, path?: string, init?: { readonly signal?: AbortSignal }) => Promise<Response>;

/** Gateways of these names, each an isolate of its own, over the one object of a Worker. Asked as one client. */
async function startGateways(names: readonly string[], objects: string, policies: readonly object[]): Promise<Send> {
  const contents = readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8");
  const module = (text: string) => [{ type: "ESModule", path: "worker.js", contents: text }];
  const gateways = names.map((name) => ({
    ...{ name, modules: module(contents), routes: [`${name}.example/*`], ...compatibility() },
    durableObjects: ELSEWHERE,
    bindings: { POLICIES: policies, REDIS_TIMEOUT_MS: 10_000 },
  }));
  const counts = { name: "counts", modules: module(objects), ...compatibility(), durableObjects: COUNTS };
  const options = { cf: false, workers: [...gateways, counts] } as unknown as V4MiniflareOptions;
  const miniflare = new Miniflare(convertV4MiniflareOptions(options));
  onTestFinished(() => miniflare.dispose());
  await miniflare.ready;
  return async (name, path = "/", init = {}) => {
    const headers = { "CF-Connecting-IP": "192.0.2.1" };
    return (await miniflare.dispatchFetch(`http://${name}.example${path}`, {
      ...init,
      headers,
    })) as unknown as Response;
  };
}

it("two gateways over one object admit exactly the limit of 2,000 requests at once", async () => {
  const policies = [{ name: "site", limits: [{ algorithm: "sliding-log", limit: 700, window: "1h" }] }];
  const send = await startGateways(["a", "b"], await bundleWorker("counts-worker.ts"), policies);
  const answers = await Promise.all(Array.from({ length: 2_000 }, (_, i) => send(i % 2 ? "a" : "b")));
  const statuses = answers.map(({ status }) => status);
  // Under load Miniflare has read some of the bodies itself by now.
  await Promise.all(answers.filter(({ bodyUsed }) => !bodyUsed).map((answer) => answer.arrayBuffer()));
  expect(statuses.filter((status) => status === 200)).toHaveLength(700);
  expect(statuses.filter((status) => status === 429)).toHaveLength(1_300);
  for (const name of ["a", "b"]) {
    expect(await (await send(name, "/.headgate/health")).json()).toMatchObject({
      status: "ok",
      store: "durable-object",
    });
  }
}, 120_000);

it("counts a request whose client goes away before the object has answered", async () => {
  const policies = [{ name: "site", limits: [{ limit: 10, window: "1h" }] }];
  const send = await startGateways(["a", "b"], await bundleWorker("slow-counts.ts"), policies);
  await (await send("a", "/.headgate/health")).json();
  const leaving = new AbortController();
  const left = send("a", "/", { signal: leaving.signal });
  setTimeout(() => leaving.abort(), 100);
  await expect(left).rejects.toThrow();
  await new Promise((resolve) => setTimeout(resolve, 400));
  const answer = await send("b");
  await answer.arrayBuffer();
  expect(answer.headers.get("X-RateLimit-Remaining")).toBe("8");
});

it("tells health and clients what is true of one central object", async () => {
  const policies = [{ name: "site", limits: [{ limit: 10, window: "1h" }] }];
  const gateway = await startGateway({ policies, redis: null, counts: true });
  const health = await (await gateway.fetch("/.headgate/health")).json();
  expect(health).toMatchObject({
    status: "ok",
    store: "durable-object",
    counts: { reachable: true, latencyMs: expect.any(Number), breaker: "closed" },
    // workerd listens on this machine.
    notes: expect.arrayContaining([expect.stringMatching(/^KEY_SECRET is not set/)]),
  });
  expect(health).not.toHaveProperty("redis");
  const limits = await gateway.fetch("/.headgate/limits", { headers: { Accept: "application/json" } });
  expect(await limits.json()).toMatchObject({ central: true });

  const secret = { vars: { KEY_SECRET: "a key secret of the operator" } };
  const own = await startGateway({ policies, redis: null, counts: true, ...secret });
  const { notes } = (await (await own.fetch("/.headgate/health")).json()) as { notes: string[] };
  expect(notes.join()).not.toContain("KEY_SECRET");
});
