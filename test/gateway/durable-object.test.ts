// The bundled Worker with its Durable Object: several gateways over one object, and clients that go away.

import { expect, it } from "vitest";
import { startGateway } from "../support/gateway/gateway.ts";
import { startGateways } from "../support/objects/gateways.ts";

/** Gateways of these names over the object of a Worker of test/worker, asked as one client. */
async function startSender(names: readonly string[], objects: string, policies: readonly object[]) {
  const { miniflare } = await startGateways(names, objects, policies);
  const headers = { "CF-Connecting-IP": "192.0.2.1" };
  return async (name: string, path = "/", init: { readonly signal?: AbortSignal } = {}): Promise<Response> => {
    const answer = await miniflare.dispatchFetch(`http://${name}.example${path}`, { ...init, headers });
    return answer as unknown as Response;
  };
}

it("two gateways over one object admit exactly the limit of 2,000 requests at once", async () => {
  const policies = [{ name: "site", limits: [{ algorithm: "sliding-log", limit: 700, window: "1h" }] }];
  const send = await startSender(["a", "b"], "counts-worker.ts", policies);
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
  const send = await startSender(["a", "b"], "slow-counts.ts", policies);
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
