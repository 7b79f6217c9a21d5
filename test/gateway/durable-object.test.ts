// The bundled Worker with its Durable Object: several gateways over one object, and clients that go away.

import { expect, it } from "vitest";
import { PATIENCE } from "../support/gateway/until-full.ts";
import { startGateways } from "../support/objects/gateways.ts";

/** Gateways of these names over the object of a Worker of test/worker, asked as one client. */
async function startSender(names: readonly string[], objects: string, policies: readonly object[]) {
  const urls = await startGateways(names, objects, policies);
  const headers = { "CF-Connecting-IP": "192.0.2.1" };
  return (name: string, path = "/", init: { readonly signal?: AbortSignal } = {}): Promise<Response> =>
    fetch(new URL(path, urls[name]), { ...init, headers });
}

it("counts a request whose client goes away before the object has answered", async () => {
  const policies = [{ name: "site", limits: [{ limit: 10, window: "1h" }] }];
  const send = await startSender(["a", "b"], "slow-counts.ts", policies);
  await (await send("a", "/.headgate/health")).json();
  const leaving = new AbortController();
  const left = send("a", "/", { signal: leaving.signal });
  const waiting = async () => (await send("counts")).json();
  await expect.poll(waiting, PATIENCE).toBe(1);
  leaving.abort();
  await expect(left).rejects.toThrow();
  const next = send("b");
  await expect.poll(waiting, PATIENCE).toBe(2);
  expect(await (await send("counts", "/begin")).json()).toBe(2);
  const answer = await next;
  await answer.arrayBuffer();
  expect(answer.headers.get("X-RateLimit-Remaining")).toBe("8");
});
